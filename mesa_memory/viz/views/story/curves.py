"""The curves below a story: how many agents are of each colour, and the model's numbers."""

import json
from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data.story.colouring import Colouring
from mesa_memory.viz.data.story.scene import Scene
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Chart, Choose, Empty, Section
from mesa_memory.viz.widgets.timeline import number

#: the curves that go with the colours, and all that count agents
COLOURS, COUNTS = "colours", "counts"


@solara.component
def Curves(source: Source, selection: Selection, told: Scene, found: Colouring) -> Any:
    """Outcomes by step, with a line at the chosen one; a click goes to a step."""
    counts = solara.use_memo(
        lambda: _counting(told, len(source.agent_ids)), [id(told), source.stamp]
    )
    choices = {COLOURS: f"the colours: {found.label}"}
    choices |= {COUNTS: "all that the model counts its agents by"} if counts else {}
    choices |= {f"model:{name}": f"the model's {name}" for name in told.collected}
    usual = COUNTS if counts and not found.classes else COLOURS
    key = selection.option("curve", usual, choices)
    # As text: else every drawing of the page would walk through all the numbers.
    option = solara.use_memo(
        lambda: _drawing(_option(source.steps, told, found, key, counts)),
        [id(told), id(found), key, source.stamp],
    )
    step = selection.step(source)
    with Section("Outcome", hint="by step; click a point to go there"):
        Choose(
            "Curves show",
            key,
            choices,
            lambda value: selection.set_option("curve", value),
        )
        if not option:
            Empty("There are no numbers to draw yet. Make a step, or choose others.")
            return
        Chart(
            option,
            label=f"Curves of {choices[key]}, by step",
            cursor=None if step is None else number(step),
            height=240,
            file="story-outcome",
            on_pick=lambda event: curves.to_step(selection, source.steps, event),
        )


def _counting(told: Scene, agents: int) -> list[str]:
    """The model's variables that are whole numbers from 0 to the number of agents."""
    return [
        name
        for name, values in told.collected.items()
        if (known := values[np.isfinite(values)]).size
        and known.min() >= 0
        and known.max() <= agents
        and not (known % 1).any()
    ]


def _drawing(option: dict[str, Any]) -> str:
    """The option as text; empty if there is nothing to draw."""
    return json.dumps(option) if option["series"] else ""


def _option(
    steps: list[float], told: Scene, found: Colouring, key: str, counts: list[str]
) -> dict[str, Any]:
    size = len(steps)
    if key == COLOURS:
        lines = [
            curves.line(n, name, _plain(values[:size]))
            for n, (name, values) in enumerate(found.curves())
            if np.isfinite(values).any()
        ]
        unit = "agents" if found.classes else "mean"
        return curves.over_steps(steps, unit, lines)
    names = counts if key == COUNTS else [key.removeprefix("model:")]
    lines = [
        curves.line(n, name, _plain(told.collected[name][:size]))
        for n, name in enumerate(names)
    ]
    return curves.over_steps(steps, "agents" if key == COUNTS else "", lines)


def _plain(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
