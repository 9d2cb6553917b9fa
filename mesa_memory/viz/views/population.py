"""The whole population: who did how much when, and how full the memories are."""

from typing import Any

import solara

from mesa_memory.viz.background_count import use_prepared
from mesa_memory.viz.data.activity import MEASURES, Occupancy, occupancy
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.widgets import Chart, Choose, Fact, Heatmap, Section
from mesa_memory.viz.widgets.chart import COLOURS, DASHES
from mesa_memory.viz.widgets.timeline import number

FACTS = {name: label.lower() for name, (label, _) in MEASURES.items()}
FACTS["importance"] = "mean importance"
LABELS = {name: label for name, (label, _) in MEASURES.items()}


@solara.component
def PopulationView(source: Source, selection: Selection) -> Any:
    """Heat map of agents and steps, the step's sums, and layers over time."""
    if not use_prepared(source):
        return
    with solara.Column(gap="0px"):
        Sums(source, selection)
        Map(source, selection)
        Layers(source, selection)


@solara.component
def Sums(source: Source, selection: Selection) -> Any:
    """What all agents did in the step."""
    step = selection.step(source)
    if step is None:
        return
    sums = source.activity().totals(step)
    card = Section(f"Step {number(step)}", hint="all agents together")
    with card, solara.Div(classes=["mm-row"]):
        Fact("agents", str(len(source.agent_ids)))
        for name, value in sums.items():
            Fact(FACTS[name], _short(name, value))


@solara.component
def Map(source: Source, selection: Selection) -> Any:
    """A cell for each agent and step; a click chooses both."""
    measure = selection.option("measure", "events", MEASURES)
    counted = source.activity()
    values = solara.use_memo(lambda: counted.measure(measure), [id(counted), measure])
    agents = [source.called(agent) for agent in counted.agents]
    label, meaning = MEASURES[measure]

    def pick(row: int, column: int) -> None:
        selection.choose(agent=counted.agents[row], step=counted.steps[column])

    with Section(f"{label} by agent and step", hint=meaning):
        Choose(
            "Colour shows",
            measure,
            LABELS,
            lambda value: selection.set_option("measure", value),
        )
        if not values.size:
            NoMemories()
            return
        step, agent = selection.step(source), selection.agent(source)
        Heatmap(
            values,
            agents,
            [number(step) for step in counted.steps],
            row=counted.agents.index(agent) if agent in counted.agents else -1,
            column=counted.steps.index(step) if step in counted.steps else -1,
            on_pick=pick,
            label=f"Heat map: {meaning}, {len(agents)} agents by {len(counted.steps)} steps",
            file=f"population-{measure}",
        )


@solara.component
def Layers(source: Source, selection: Selection) -> Any:
    """How many records of each kind the layers held, step by step."""
    held = source.of(occupancy)
    option = solara.use_memo(lambda: _areas(held), [id(held)])
    step = selection.step(source)
    with Section("Layers over time", hint="records held at the end of each step"):
        if not held.held:
            NoMemories()
            return
        Chart(
            option,
            label="Number of records in each layer of all memories, by step",
            cursor=None if step is None else number(step),
            file="layers",
        )


def _areas(held: Occupancy) -> dict[str, Any]:
    series = [
        {
            "name": f"{layer}: {kind}",
            "type": "line",
            "stack": "all",
            "step": "middle" if len(held.steps) < 60 else False,
            "showSymbol": len(held.steps) == 1,  # there is no line yet
            "areaStyle": {"opacity": 0.55},
            "color": COLOURS[n % len(COLOURS)],
            "lineStyle": {"type": DASHES[n // len(COLOURS) % len(DASHES)]},
            "data": numbers,
        }
        for n, ((layer, kind), numbers) in enumerate(held.held.items())
    ]
    steps = [number(step) for step in held.steps]
    return {
        "grid": {"left": 56, "right": 24, "top": 32, "bottom": 72},
        "tooltip": {"trigger": "axis"},
        "legend": {"type": "scroll", "bottom": 0},
        "xAxis": {
            "type": "category",
            "data": steps,
            "name": "Step",
            "nameLocation": "middle",
            "nameGap": 26,
            "boundaryGap": False,
        },
        "yAxis": {"type": "value", "name": "records"},
        "series": series,
    }


def _short(name: str, value: float | None) -> str:
    if value is None:
        return "unknown" if name == "cost" else "–"
    if name == "cost":
        return f"${value:.4f}"
    return f"{value:,.2f}" if name == "importance" else f"{value:,.0f}"
