"""All runs of a page in one chart: a variable of the model, cost, or a text's holders."""

from typing import Any

import pandas as pd
import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.runs.claims import has_words
from mesa_memory.viz.background import use_work
from mesa_memory.viz.data import together as data
from mesa_memory.viz.data.story.frames import plain
from mesa_memory.viz.selection import nearest
from mesa_memory.viz.serving.run_feed import Source
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.spread.spread import AskForText, TextBox
from mesa_memory.viz.widgets import Answer, Choose, Empty, Section, number
from mesa_memory.viz.widgets.chart import COLOURS

TEXT = "text"
#: digits of a number after the point
DIGITS = 6


@solara.component
def Together(focus: Focus) -> Any:
    """The choice of numbers, and their chart."""
    selection = focus.selection
    runs = [one for one in focus.source.all if one.steps]
    stamps = [one.stamp for one in runs]
    with Section(
        "All runs in one chart",
        hint=f"{len(runs)} runs; runs that differ only in their seeds are one line, "
        "the mean, in a band from the lowest to the highest",
    ):
        variables = use_work(
            lambda: _variables(runs), len(runs), stamps, False, "Reading all runs …"
        )
        if variables is None:
            return
        choices = {f"model:{n}": f"the model's {n}" for n in variables}
        choices |= {name: label for name, (label, _) in data.SPENT.items()}
        choices[TEXT] = "holders of a text …"
        key = selection.option("together", next(iter(choices)), choices)
        if key == TEXT and not has_words(selection.choice.text):
            AskForText(focus)
        else:
            Drawn(focus, runs, key, choices[key], stamps)
        with solara.Div(classes=["mm-row"]):
            setter = selection.setter("together")
            Choose("Curves show", key, choices, setter, wide=True)
            if key == TEXT:
                TextBox(selection)


def _variables(runs: list[Source]) -> list[str]:
    """Names of the model's variables that any of the runs has."""
    return list(dict.fromkeys(name for one in runs for name in one.of(data.collected)))


@solara.component
def Drawn(
    focus: Focus, runs: list[Source], key: str, label: str, stamps: list[Any]
) -> Any:
    """The chart; the numbers are read in the background."""
    selection = focus.selection
    text = selection.choice.text.strip() if key == TEXT else ""
    found = use_work(
        lambda: _read(runs, key, text), (key, text), stamps, False, "Reading all runs …"
    )
    if found is None:
        return
    steps = found[0].mean.index.tolist()
    if not steps:
        Empty("No run has this number. Choose another one.")
        return
    unit = data.SPENT[key][1] if key in data.SPENT else "agents" * (key == TEXT)
    step = selection.choice.step if selection.choice.step in steps else None
    last = nearest(steps, focus.step) or steps[0]
    means = [f"{band.mean[last]:,.4g} with {band.label}" for band in found]
    Answer(f"At step {number(last)}, {label}: {'; '.join(means)}.")
    curves.StepChart(
        selection,
        option(found, unit),
        steps,
        step,
        label=f"{label[0].upper()}{label[1:]} by step, {len(runs)} runs",
        height=320,
        file="runs-together",
    )


def _read(runs: list[Source], key: str, text: str) -> list[data.Band]:
    def values(one: Source) -> pd.Series:
        if key == TEXT:
            return one.of(data.holders, text)
        if key in data.SPENT:
            return one.of(data.spent, key)
        named = one.of(data.collected)
        return named.get(key.removeprefix("model:"), pd.Series(dtype=float))

    grouped = data.groups(
        [one.feed.facts for one in runs], [one.feed.memory for one in runs]
    )
    return data.bands(grouped, [values(one) for one in runs])


def option(found: list[data.Band], unit: str) -> dict[str, Any]:
    """A line for each group, in its band if it has several runs."""
    series: list[dict[str, Any]] = []
    for n, band in enumerate(found):
        name = band.label if band.runs == 1 else f"{band.label}, {band.runs} runs"
        series.append(curves.line(n, name, plain(band.mean, DIGITS)))
        if band.runs > 1:
            series += _shade(n, name, band)
    return curves.over_steps(found[0].mean.index.tolist(), unit, series)


def _shade(n: int, name: str, band: data.Band) -> list[dict[str, Any]]:
    """The area from the lowest to the highest: two stacked lines that are hidden."""
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
        hidden | {"data": plain(band.low, DIGITS)},
        hidden
        | {"data": plain(band.high - band.low, DIGITS), "areaStyle": {"opacity": 0.2}},
    ]
