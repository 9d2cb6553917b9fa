"""A run as files: one for each table, for any tool.

Files are named after the tables, never after what agents say. In CSV a text that a
spreadsheet would run as a formula gets an apostrophe in front, see ``spreadsheet``. JSON
Lines keep texts as they are. What is JSON in the store is JSON text in CSV.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy import Table as SQLTable

import mesa_memory.runs.spreadsheet as spreadsheet
import mesa_memory.stores.columns as columns
import mesa_memory.stores.schema as schema
from mesa_memory.core.text.redaction import hide
from mesa_memory.runs.recorded import RecordedRun

#: what only those need who write a run
_OWN_TABLES = (
    *("schema_version", "leases", "unfinished_calls"),
    *("studies", "cases", "spending"),
)
#: the tables of which a run has rows
RUN_TABLES = [t for t in schema.metadata.sorted_tables if t.name not in _OWN_TABLES]
Chunks = Iterator[Sequence[Any]]


def export(run: RecordedRun, folder: str | Path, format: str) -> list[Path]:
    """See ``Run.export``."""
    if format not in WRITERS:
        raise ValueError(f"format must be one of {', '.join(WRITERS)}, got {format!r}")
    write = WRITERS[format]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{table.name}.{format}" for table in RUN_TABLES]
    for path in paths:
        if path.exists():
            raise FileExistsError(f"{path} exists already; choose another folder")
    for path, table in zip(paths, RUN_TABLES):
        try:
            write(path, table, _chunks(run, table))
        except BaseException:
            path.unlink(missing_ok=True)  # half a file looks like a whole one
            raise
    return paths


def _chunks(run: RecordedRun, table: SQLTable) -> Chunks:
    """Rows of a table, some at a time, without values under names of secrets."""
    chunks = run.chunks(_rows(run, table))
    if table is not schema.runs:
        return chunks
    return ([hide(list(row)) for row in rows] for rows in chunks)


def _rows(run: RecordedRun, table: SQLTable) -> Select:
    """The run's rows of a table, in the order in which they came if that is known."""
    mine = table.c.id == run.id if table is schema.runs else run.mine(table)
    order = [table.c.seq] if "seq" in table.c else list(table.primary_key)
    return select(table).where(mine).order_by(*order)


def _write_csv(path: Path, table: SQLTable, chunks: Chunks) -> None:
    cells = [_json if _is_json(c) else spreadsheet.cell for c in table.columns]
    with path.open(
        "w", newline="", encoding="utf-8", errors="backslashreplace"
    ) as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in table.columns])
        for rows in chunks:
            writer.writerows([c(v) for c, v in zip(cells, row)] for row in rows)


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _write_jsonl(path: Path, table: SQLTable, chunks: Chunks) -> None:
    names = [column.name for column in table.columns]
    # A lone surrogate, which UTF-8 has not, is escaped: valid JSON again.
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for rows in chunks:
            for row in rows:
                line = dict(zip(names, row))
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _is_json(column: Any) -> bool:
    return isinstance(column.type, columns.Document)


#: the writers by format
WRITERS: dict[str, Callable[[Path, SQLTable, Chunks], None]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
}
