"""The whole population: activity by agent and step."""

from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data.activity import Activity, activity
from mesa_memory.viz.data.colouring import Colouring, colour_keys, coloured
from mesa_memory.viz.data.scene import scene
from mesa_memory.viz.views.cost import written
from mesa_memory.viz.views.focus import Focus


@solara.component
def PopulationView(focus: Focus) -> Any:
    """Heat map of agents and steps, and the step's sums."""
    counted = use_answer(focus.source, activity, says="Counting all steps …")
    if counted is None:
        return
    with solara.Column(gap="0px"):
        ActivityMap(focus, counted)


@solara.component
def ActivityMap(focus: Focus, counted: Activity) -> Any:
    """A cell for each agent and step; a click chooses both.

    By an outcome, agents with the same value at the step stand together.
    """
    selection, shown = focus.selection, focus.source.of(scene)
    keys = colour_keys(shown)
    key = selection.option("colour", next(iter(keys)), keys)
    kind, _, name = key.partition(":")
    found = solara.use_memo(
        lambda: coloured(key, shown, lambda: counted), [id(counted), id(shown), key]
    )
    if kind == "outcome":
        steps = shown.steps
        order = _order(found, focus)
        ui.Answer(_outcome_of(focus, found))
    else:
        steps = counted.steps
        order = [*range(len(found.agents))]
        ui.Answer(_sums_of(focus, counted))
    values = found.values[order] + bool(found.classes)
    title = f"{found.label[:1].upper()}{found.label[1:]} by agent and step"
    with ui.Section(title, found.meaning):
        curves.StepMap(
            focus,
            values,
            [found.agents[place] for place in order],
            steps,
            meaning=found.meaning,
            file=f"population-{name}",
            names=found.classes,
        )
        ui.Choose("Colour shows", key, keys, selection.setter("colour"))


def _outcome_of(focus: Focus, outcome: Colouring) -> str:
    """The outcome of the agents at the end of the step."""
    place = focus.source.steps.index(focus.step)
    return f"At step {focus.at}, {outcome.summary(place)}."


def _sums_of(focus: Focus, counted: Activity) -> str:
    """The sums of the step over all agents."""
    sums = {name: written(name, n) for name, n in counted.totals(focus.step).items()}
    return (
        f"In step {focus.at}, {len(focus.source.agent_ids)} agents got "
        f"{sums['events']} events, recalled {sums['recalls']} times, made {sums['made']} "
        f"conclusions and {sums['calls']} calls with {sums['tokens']} tokens; the cost is "
        f"{sums['cost']}."
    )


def _order(found: Colouring, focus: Focus) -> list[int]:
    """The places of the agents, by their values at the step; unknown ones last."""
    column = min(focus.source.steps.index(focus.step), found.values.shape[1] - 1)
    return np.argsort(found.values[:, column], kind="stable").tolist()
