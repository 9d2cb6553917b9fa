"""All runs of a page in one chart: a variable of the model, cost, or who holds a text."""

from typing import Any

import solara
import solara.lab

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data import leads
from mesa_memory.viz.data import together as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Chart, Choose, Empty, SearchBox, Section
from mesa_memory.viz.widgets.chart import COLOURS
from mesa_memory.viz.widgets.timeline import number

TEXT = "text"


@solara.component
def Together(source: Source, selection: Selection) -> Any:
    """What is drawn, and the chart of it."""
    runs = [one for one in source.all if one.steps]
    stamps = [one.stamp for one in runs]
    variables = solara.lab.use_task(
        lambda: _variables(runs), dependencies=[len(runs), stamps]
    )
    if variables.error:
        raise variables.exception  # type: ignore[misc]  # there is one
    with Section("All runs in one chart", hint=_hint(runs)):
        if variables.value is None:
            solara.ProgressLinear(True)
            return
        choices = {f"model:{n}": f"the model's {n}" for n in variables.value}
        choices |= {name: label for name, (label, _) in data.SPENT.items()}
        choices[TEXT] = "agents that hold a memory like a text …"
        what = selection.option("together", next(iter(choices)), choices)
        with solara.Div(classes=["mm-row"]):
            Choose(
                "Curves show",
                what,
                choices,
                lambda key: selection.set_option("together", key),
                wide=True,
            )
            if what == TEXT:
                SearchBox(
                    "Text to look for in all memories",
                    selection.text.strip(),
                    lambda value: selection.choose(text=value.strip()),
                )
        if what == TEXT and not selection.text.strip():
            AskForText(source, selection)
            return
        Drawn(runs, selection, what, choices[what], stamps)


@solara.component
def AskForText(source: Source, selection: Selection) -> Any:
    """Says what to type, and offers what the most agents heard."""
    words = source.of(leads.widest_words)
    Empty(
        "Type a sentence above and press Enter, such as a rumour.",
        "mdi-map-search-outline",
        button=f"Look for “{leads.beginning(words)}”" if words else "",
        on_click=lambda: selection.choose(text=words),
    )


def _hint(runs: list[Source]) -> str:
    return (
        f"{len(runs)} runs; those that differ in their seeds alone are one line, the "
        "mean, in a band from the lowest to the highest"
    )


def _variables(runs: list[Source]) -> list[str]:
    """Names of the model's variables that any of the runs has."""
    return list(dict.fromkeys(name for one in runs for name in one.of(data.collected)))


@solara.component
def Drawn(
    runs: list[Source], selection: Selection, what: str, label: str, stamps: list[Any]
) -> Any:
    """The chart; the numbers are read in the background."""
    text = selection.text.strip() if what == TEXT else ""
    unlike = selection.option("unlike", "").strip() if what == TEXT else ""
    task = solara.lab.use_task(
        lambda: _read(runs, what, text, unlike),
        dependencies=[what, text, unlike, stamps],
    )
    if task.error:
        raise task.exception  # type: ignore[misc]  # there is one
    if task.value is None:
        solara.ProgressLinear(True)
        solara.Text("Reading all runs …")
        return
    steps, found = task.value
    if not steps:
        Empty("None of the runs knows this number. Choose another one.")
        return
    unit = data.SPENT[what][1] if what in data.SPENT else "agents" * (what == TEXT)
    step = selection.choice.step if selection.choice.step in steps else None
    Chart(
        option(steps, found, unit),
        label=f"{label[0].upper()}{label[1:]} by step, {len(runs)} runs",
        cursor=None if step is None else number(step),
        height=320,
        file="runs-together",
        on_pick=lambda event: curves.to_step(selection, steps, event),
    )


def _read(
    runs: list[Source], what: str, text: str, unlike: str
) -> tuple[list[float], list[data.Band]]:
    def values(one: Source) -> dict[float, float]:
        if what == TEXT:
            return one.of(data.holders, text, unlike)
        if what in data.SPENT:
            return one.of(data.spent, what)
        return one.of(data.collected).get(what.removeprefix("model:"), {})

    grouped = data.groups([one.facts for one in runs], [one.memory for one in runs])
    return data.bands(grouped, [values(one) for one in runs])


def option(steps: list[float], found: list[data.Band], unit: str) -> dict[str, Any]:
    """A line for each group, in its band if it has several runs."""
    series: list[dict[str, Any]] = []
    for n, band in enumerate(found):
        name = band.label if band.runs == 1 else f"{band.label}, {band.runs} runs"
        series.append(curves.line(n, name, band.mean))
        if band.runs > 1:
            series += _shade(n, name, band)
    return curves.over_steps(steps, unit, series)


def _shade(n: int, name: str, band: data.Band) -> list[dict[str, Any]]:
    """The area from the lowest to the highest: two stacked lines that are not seen."""
    ranges = [
        None if low is None or high is None else high - low
        for low, high in zip(band.low, band.high)
    ]
    hidden = {
        "name": name,
        "type": "line",
        "stack": f"band {n}",
        "stackStrategy": "all",
        "symbol": "none",
        "silent": True,
        "color": COLOURS[n % len(COLOURS)],
        "lineStyle": {"opacity": 0},
        "tooltip": {"show": False},
    }
    return [
        hidden | {"data": band.low},
        hidden | {"data": ranges, "areaStyle": {"opacity": 0.2}},
    ]
