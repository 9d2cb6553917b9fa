"""The whole population: activity by agent and step, and the size of memories."""

from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data.activity import (
    MEASURES,
    Activity,
    Occupancy,
    activity,
    occupancy,
)
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Choose, Facts, Section, number

LABELS = {name: label for name, (label, _) in MEASURES.items()}


@solara.component
def PopulationView(focus: Focus) -> Any:
    """Heat map of agents and steps, the step's sums, and layers over time."""
    counted = use_answer(focus.source, activity, says="Counting all steps …")
    if counted is None:
        return
    with solara.Column(gap="0px"):
        sums = {
            "mean " * (name == "importance") + LABELS[name].lower(): _short(name, value)
            for name, value in counted.totals(focus.step).items()
        }
        with Section(f"Step {number(focus.step)}", hint="all agents together"):
            Facts({"agents": len(focus.source.agent_ids)} | sums)
        ActivityMap(focus, counted)
        LayerSizes(focus)


@solara.component
def ActivityMap(focus: Focus, counted: Activity) -> Any:
    """A cell for each agent and step; a click chooses both."""
    selection = focus.selection
    measure = selection.option("measure", "events", MEASURES)
    values = solara.use_memo(lambda: counted.measure(measure), [id(counted), measure])
    label, meaning = MEASURES[measure]
    with Section(f"{label} by agent and step", hint=meaning):
        Choose("Colour shows", measure, LABELS, selection.setter("measure"))
        curves.StepMap(
            focus,
            values,
            counted.agents,
            counted.steps,
            meaning=meaning,
            file=f"population-{measure}",
        )


@solara.component
def LayerSizes(focus: Focus) -> Any:
    """The number of records of each kind in the layers, step by step."""
    held = focus.source.of(occupancy)
    option = solara.use_memo(lambda: _areas(held), [id(held)])
    with Section("Layers over time", hint="records held at the end of each step"):
        curves.StepChart(
            focus.selection,
            option,
            held.steps,
            focus.step,
            label="Number of records in each layer of all memories, by step",
            file="layers",
        )


def _areas(held: Occupancy) -> dict[str, Any]:
    areas = [
        curves.line(n, f"{layer}: {kind}", numbers, shade=0.55) | {"stack": "all"}
        for n, ((layer, kind), numbers) in enumerate(held.held.items())
    ]
    return curves.over_steps(held.steps, "records", areas)


def _short(name: str, value: float | None) -> str:
    if value is None:
        return "unknown" if name == "cost" else "–"
    if name == "cost":
        return f"${value:.4f}"
    return f"{value:,.2f}" if name == "importance" else f"{value:,.0f}"
