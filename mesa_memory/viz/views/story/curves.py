"""The curves below a story: the agents of each colour, and the model's numbers."""

import json
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data.story.colouring import Colouring
from mesa_memory.viz.data.story.frames import plain
from mesa_memory.viz.data.story.scene import Scene
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Choose, Section

#: the curves that go with the colours
COLOURS = "colours"


@solara.component
def Curves(focus: Focus, scene: Scene, found: Colouring) -> Any:
    """Outcomes by step, with a line at the chosen one; a click goes to a step."""
    steps, selection = focus.source.steps, focus.selection
    choices = {COLOURS: f"the colours: {found.label}"}
    choices |= {f"model:{name}": f"the model's {name}" for name in scene.collected}
    key = selection.option("curve", COLOURS, choices)
    # As text: else every drawing of the page would walk through all the numbers.
    option = solara.use_memo(
        lambda: json.dumps(_option(steps, scene, found, key)),
        [id(scene), id(found), key],
    )
    with Section("Outcome", hint="by step; click a point to go there"):
        Choose("Curves show", key, choices, selection.setter("curve"))
        curves.StepChart(
            selection,
            option,
            steps,
            focus.step,
            label=f"Curves of {choices[key]}, by step",
            height=240,
            file="story-outcome",
        )


def _option(
    steps: list[float], scene: Scene, found: Colouring, key: str
) -> dict[str, Any]:
    if key == COLOURS:
        unit, named = "agents" if found.classes else "mean", found.curves()
    else:
        name = key.removeprefix("model:")
        unit, named = "", [(name, scene.collected[name])]
    lines = [
        curves.line(n, name, plain(values[: len(steps)], 6))
        for n, (name, values) in enumerate(named)
    ]
    return curves.over_steps(steps, unit, lines)
