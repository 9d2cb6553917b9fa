"""The curves below a story: the agents of each colour, and the model's numbers."""

import json
from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data.story.colouring import Colouring
from mesa_memory.viz.data.story.scene import Scene
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Choose, Empty, Section

#: the curves that go with the colours, and all that count agents
COLOURS, COUNTS = "colours", "counts"


@solara.component
def Curves(focus: Focus, scene: Scene, found: Colouring) -> Any:
    """Outcomes by step, with a line at the chosen one; a click goes to a step."""
    source, selection = focus.source, focus.selection
    counts = solara.use_memo(
        lambda: _counting(scene, len(source.agent_ids)), [id(scene), source.stamp]
    )
    choices = {COLOURS: f"the colours: {found.label}"}
    choices |= {COUNTS: "the model's counts of agents"} if counts else {}
    choices |= {f"model:{name}": f"the model's {name}" for name in scene.collected}
    usual = COUNTS if counts and not found.classes else COLOURS
    key = selection.option("curve", usual, choices)
    # As text: else every drawing of the page would walk through all the numbers.
    option = solara.use_memo(
        lambda: _drawing(_option(source.steps, scene, found, key, counts)),
        [id(scene), id(found), key, source.stamp],
    )
    with Section("Outcome", hint="by step; click a point to go there"):
        Choose("Curves show", key, choices, selection.setter("curve"))
        if not option:
            Empty("There are no numbers to draw yet. Make a step, or choose others.")
            return
        curves.StepChart(
            selection,
            option,
            source.steps,
            focus.step,
            label=f"Curves of {choices[key]}, by step",
            height=240,
            file="story-outcome",
        )


def _counting(scene: Scene, agents: int) -> list[str]:
    """The model's variables that are whole numbers from 0 to the number of agents."""
    return [
        name
        for name, values in scene.collected.items()
        if (known := values[np.isfinite(values)]).size
        and known.min() >= 0
        and known.max() <= agents
        and not (known % 1).any()
    ]


def _drawing(option: dict[str, Any]) -> str:
    """The option as text; empty if there is nothing to draw."""
    return json.dumps(option) if option["series"] else ""


def _option(
    steps: list[float], scene: Scene, found: Colouring, key: str, counts: list[str]
) -> dict[str, Any]:
    if key == COLOURS:
        unit = "agents" if found.classes else "mean"
        values = dict(found.curves())
    else:
        unit = "agents" if key == COUNTS else ""
        names = counts if key == COUNTS else [key.removeprefix("model:")]
        values = {name: scene.collected[name] for name in names}
    lines = [
        curves.line(n, name, _plain(own[: len(steps)]))
        for n, (name, own) in enumerate(values.items())
        if key != COLOURS or np.isfinite(own).any()
    ]
    return curves.over_steps(steps, unit, lines)


def _plain(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
