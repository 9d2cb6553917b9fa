"""``mesa-memory runs``: which runs a store holds, and in what they differ."""

import click

from mesa_memory.cli.console import named, opened
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
        from mesa_memory.runs.compare import differing_parameters

        rows = newest.runs(as_records=True)
    if not as_json:
        given = [row["parameters"] or {} for row in rows]
        apart = map(named, differing_parameters(given))
        rows = [row | {"parameters": text} for row, text in zip(rows, apart)]
    output.table("runs", f"Runs of {store}", _COLUMNS, rows)
    output.end()
