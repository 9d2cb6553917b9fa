"""``mesa-memory runs``: which runs a store holds, and in what they differ."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from mesa_memory.cli.console import opened
from mesa_memory.cli.output import Output, printed

_COLUMNS = {
    "id": "run", "name": "name", "model": "model", "parameters": "differs in",
    "seed": "seed", "state": "state", "agents": "agents", "steps": "steps",
    "calls": "calls", "started": "started",
}  # fmt: skip


@click.command()
@click.argument("store", metavar="STORE")
@printed
def runs(store: str, limit: int | None, as_json: bool) -> None:
    """Lists the runs of a store, oldest first, and in what they differ.

    STORE is its path or address.
    """
    output = Output(as_json, limit)
    with opened(store) as newest:
        rows = newest.runs(as_records=True)
    if not as_json:
        rows = [row | {"parameters": text} for row, text in zip(rows, differing(rows))]
    output.table("runs", f"Runs of {store}", _COLUMNS, rows)
    output.end()


def differing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each run the parameters that not all runs share, as ``name=value``."""
    given = [row["parameters"] or {} for row in rows]
    names = dict.fromkeys(name for parameters in given for name in parameters)
    first = given[0] if given else {}
    # Not a set: a value may be a list.
    apart = [
        name
        for name in names
        if any(p.get(name) != first.get(name) or name not in p for p in given)
    ]
    return [
        ", ".join(f"{name}={p[name]}" for name in apart if name in p) for p in given
    ]
