"""The whole population: activity by agent and step."""

from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data.activity import MEASURES, Activity, activity
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Answer, Choose, Section, number

LABELS = {name: label for name, (label, _) in MEASURES.items()}


@solara.component
def PopulationView(focus: Focus) -> Any:
    """Heat map of agents and steps, and the step's sums."""
    counted = use_answer(focus.source, activity, says="Counting all steps …")
    if counted is None:
        return
    sums = {
        name: _short(name, value) for name, value in counted.totals(focus.step).items()
    }
    with solara.Column(gap="0px"):
        Answer(
            f"In step {number(focus.step)}, {len(focus.source.agent_ids)} agents got "
            f"{sums['events']} events, recalled "
            f"{sums['recalls']} times, made {sums['made']} conclusions and {sums['calls']} "
            f"calls with {sums['tokens']} tokens, cost {sums['cost']}."
        )
        ActivityMap(focus, counted)


@solara.component
def ActivityMap(focus: Focus, counted: Activity) -> Any:
    """A cell for each agent and step; a click chooses both."""
    selection = focus.selection
    measure = selection.option("measure", "events", MEASURES)
    values = solara.use_memo(lambda: counted.measure(measure), [id(counted), measure])
    label, meaning = MEASURES[measure]
    with Section(f"{label} by agent and step", hint=meaning):
        curves.StepMap(
            focus,
            values,
            counted.agents,
            counted.steps,
            meaning=meaning,
            file=f"population-{measure}",
        )
        Choose("Colour shows", measure, LABELS, selection.setter("measure"))


def _short(name: str, value: float | None) -> str:
    if value is None:
        return "unknown" if name == "cost" else "–"
    if name == "cost":
        return f"${value:.4f}"
    return f"{value:,.2f}" if name == "importance" else f"{value:,.0f}"
