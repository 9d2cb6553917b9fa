"""Cost by whom and for what, and how long calls took."""

from typing import Any

import solara

from mesa_memory.viz.data.requests import cost as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Choose, Column, Empty, Section, Table

GROUPS = {
    "purpose": "purpose",
    "model": "model",
    "purpose,model": "purpose and model",
    "agent": "agent",
}


@solara.component
def Groups(source: Source, selection: Selection) -> Any:
    """A table of sums over the whole run."""
    by = selection.option("cost_by", "purpose,model", GROUPS)
    names = by.split(",")
    rows = source.of(data.grouped, tuple(names))
    columns = {
        "calls": "calls",
        "tokens_in": "tokens in",
        "tokens_cached": "of them cached",
        "tokens_out": "tokens out",
        "share": "share of tokens",
        "cost": "US dollars",
        "seconds": "mean seconds",
        "failures": "failed",
        "cached_calls": "from a recorded run",
        "kept_calls": "from kept answers",
    }
    rare = ("tokens_cached", "cached_calls", "kept_calls")
    empty = {name for name in rare if not any(row[name] for row in rows)}
    columns = {name: label for name, label in columns.items() if name not in empty}
    heads = [Column(name) for name in names]
    heads += [Column(label, number=True) for label in columns.values()]
    with Section("Whole run", hint="sums over all finished steps"):
        Choose(
            "A row for each",
            by,
            GROUPS,
            lambda value: selection.set_option("cost_by", value),
        )
        Table(
            heads,
            [
                [_whose(source, row, name) for name in names]
                + [_cell(row, name) for name in columns]
                for row in rows
            ],
            file=f"cost-by-{by.replace(',', '-')}",
        )


def _whose(source: Source, row: dict[str, Any], name: str) -> Any:
    return source.called(row[name]) if name == "agent" else row[name]


def _cell(row: dict[str, Any], name: str) -> Any:
    if name == "cost" and row["unpriced"]:
        return "unknown"
    return row[name]


@solara.component
def Latency(source: Source) -> Any:
    """A table of the durations of calls."""
    waits = source.of(data.waits)
    rows = [
        [name, facts["calls"], facts["median"], facts["p95"], facts["longest"]]
        for name, facts in waits.facts.items()
    ]
    with Section("Latency", hint="seconds per call, over the whole run"):
        if waits.cached:
            solara.Text(f"{waits.cached:,} calls that were not sent are left out.")
        if not rows:
            Empty("No call was sent to a provider.", "mdi-timer-off")
            return
        numbers = ("calls", "median", "95 %", "longest")
        heads = [Column("purpose"), *(Column(name, number=True) for name in numbers)]
        Table(heads, rows, file="latency")
