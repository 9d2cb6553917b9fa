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
from mesa_memory.viz.widgets import Answer, Choose, Facts, Section, number

LABELS = {name: label for name, (label, _) in MEASURES.items()}


@solara.component
def PopulationView(focus: Focus) -> Any:
    """Heat map of agents and steps, the step's sums, and layers over time."""
    counted = use_answer(focus.source, activity, says="Counting all steps …")
    if counted is None:
        return
    totals = counted.totals(focus.step)
    with solara.Column(gap="0px"):
        Answer(
            f"In step {number(focus.step)}, {_short('events', totals['events'])} events "
            f"reached {len(focus.source.agent_ids)} agents, which recalled "
            f"{_short('recalls', totals['recalls'])} times and made "
            f"{_short('made', totals['made'])} conclusions."
        )
        ActivityMap(focus, counted)
        sums = {
            "mean " * (name == "importance") + LABELS[name].lower(): _short(name, value)
            for name, value in totals.items()
        }
        with Section(f"Step {number(focus.step)}", hint="all agents together"):
            Facts({"agents": len(focus.source.agent_ids)} | sums)
        LayerSizes(focus)


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
