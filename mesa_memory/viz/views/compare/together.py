"""All runs of a page in one chart: a variable of the model, or cost."""

from typing import Any

import pandas as pd
import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.background import use_work
from mesa_memory.viz.data import compare as data
from mesa_memory.viz.data.story.frames import plain
from mesa_memory.viz.selection import nearest
from mesa_memory.viz.serving.run_feed import Source
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Answer, Choose, Section, number

#: digits of a number after the point
DIGITS = 6


@solara.component
def Together(focus: Focus) -> Any:
    """The choice of numbers, and their chart; the numbers are read in the background."""
    runs = [one for one in focus.source.all if one.steps]
    with Section("All runs in one chart", hint=f"{len(runs)} runs"):
        found = use_work(
            lambda: [one.of(data.numbers) for one in runs],
            len(runs),
            [one.stamp for one in runs],
            False,
            "Reading all runs …",
        )
        if found is None:
            return
        names = list(dict.fromkeys(name for known in found for name in known))
        choices = {name: _label(name) for name in names}
        key = focus.selection.option("together", names[0], names)
        table = pd.concat(
            [known.get(key, pd.Series(dtype=float)) for known in found],
            axis=1,
            keys=[_name(one) for one in runs],
            sort=True,
        )
        if len(table):
            Drawn(focus, table, key, choices[key])
        setter = focus.selection.setter("together")
        Choose("Curves show", key, choices, setter, wide=True)


@solara.component
def Drawn(focus: Focus, table: pd.DataFrame, key: str, label: str) -> Any:
    """A line for each run.

    Args:
        table: a column for each run, a row for each step.
        key: of the numbers.
        label: their meaning.
    """
    steps = table.index.tolist()
    lines = [
        curves.line(n, str(name), plain(table.iloc[:, n], DIGITS))
        for n, name in enumerate(table)
    ]
    chosen = focus.selection.choice.step
    last = nearest(steps, focus.step) or steps[0]
    told = [f"{value:,.4g} in {name}" for name, value in table.loc[last].items()]
    Answer(f"At step {number(last)}, {label}: {'; '.join(told)}.")
    curves.StepChart(
        focus.selection,
        curves.over_steps(steps, data.SPENT.get(key, ("", ""))[1], lines),
        steps,
        chosen if chosen in steps else None,
        label=f"{label[0].upper()}{label[1:]} by step, {len(lines)} runs",
        height=320,
        file="runs-together",
    )


def _label(key: str) -> str:
    return data.SPENT[key][0] if key in data.SPENT else f"the model's {key[6:]}"


def _name(run: Source) -> str:
    """A short name of a run: its place, and its own name or its memory."""
    facts = run.feed.facts
    place = facts.place or f"run {run.all.index(run) + 1}"
    return f"{place}, {facts.name or run.feed.memory}"
