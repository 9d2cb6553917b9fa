"""A run as CSV files: one for each table, for any tool.

Files are named after the tables, never after what agents say. A text that a spreadsheet
would run as a formula gets an apostrophe in front, see ``spreadsheet``. What is JSON in
the store is JSON text.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Table as SQLTable
from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.core.text.redaction import hide
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.spreadsheet import write_rows

#: what only those need who write a run
_OWN_TABLES = (
    *("schema_version", "leases", "unfinished_calls"),
    *("studies", "cases", "spending"),
)
#: the tables of which a run has rows
RUN_TABLES = [t for t in schema.metadata.sorted_tables if t.name not in _OWN_TABLES]


def export(run: RecordedRun, folder: str | Path) -> list[Path]:
    """See ``Run.export``."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{table.name}.csv" for table in RUN_TABLES]
    for path in paths:
        if path.exists():
            raise FileExistsError(f"{path} exists already; choose another folder")
    for path, table in zip(paths, RUN_TABLES):
        try:
            write_rows(path, table.columns.keys(), _rows(run, table))
        except BaseException:
            path.unlink(missing_ok=True)  # half a file looks like a whole one
            raise
    return paths


def _rows(run: RecordedRun, table: SQLTable) -> Iterator[list[Any]]:
    """The run's rows of a table, in the order in which they came if that is known.

    Values under names of secrets are left out.
    """
    mine = table.c.id == run.id if table is schema.runs else run.mine(table)
    order = [table.c.seq] if "seq" in table.c else list(table.primary_key)
    documents = [isinstance(c.type, schema.Document) for c in table.columns]
    for rows in run.chunks(select(table).where(mine).order_by(*order)):
        for row in rows:
            values = hide(list(row)) if table is schema.runs else row
            yield [
                json.dumps(value, ensure_ascii=False)
                if is_json and value is not None
                else value
                for is_json, value in zip(documents, values)
            ]
