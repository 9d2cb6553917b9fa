"""The evidence of a record, down to the raw events."""

from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StoreCorrupt
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.state import COLUMNS
from mesa_memory.runs.table import Table, table
from mesa_memory.runs.versions import run_record, source_ids

records = schema.records
#: more records, or lines, than this are no evidence that anyone reads
EVIDENCE_LINES = 100_000
SHOWN_COLUMNS = (
    "depth", "id", "parent", "kind", "origin", "step", "agent", "layer", "text",
    "missing", "repeated",
)  # fmt: skip


def provenance_of(run: RecordedRun, record: str) -> Table:
    """See ``Run.provenance``."""
    run_record(run, record)
    found = _below(run, record)
    lines: list[dict[str, Any]] = []
    waiting: list[tuple[int, str, str | None]] = [(0, record, None)]
    told: set[str] = set()
    while waiting:
        depth, name, parent = waiting.pop()
        row = found.get(name)
        repeated = name in told
        lines.append(_line(row, depth, name, parent, repeated))
        if len(lines) > EVIDENCE_LINES:
            raise StoreCorrupt(
                f"the evidence of {record!r} in run {run.id} has more than "
                f"{EVIDENCE_LINES:,} lines, which no memory makes. The file was changed; "
                "restore a backup.",
                location=run.location,
            )
        if row and not repeated:
            told.add(name)
            # The last one put in is told first.
            below = reversed(source_ids(row))
            waiting.extend((depth + 1, source, name) for source in below)
    return table(SHOWN_COLUMNS, lines)


def _line(
    row: dict[str, Any] | None, depth: int, name: str, parent: str | None, again: bool
) -> dict[str, Any]:
    known = row or dict.fromkeys(("kind", "origin", "step", "agent", "layer", "text"))
    return known | {
        "id": name,
        "depth": depth,
        "parent": parent,
        "missing": row is None,
        "repeated": again,
    }


def _below(run: RecordedRun, record: str) -> dict[str, dict[str, Any]]:
    """The record and all that it came from by id, each once, so that a cycle ends."""
    found: dict[str, dict[str, Any]] = {}
    wanted = [record]
    while wanted and len(found) < EVIDENCE_LINES:
        some = records.c.id.in_(wanted)
        rows = run.records(select(*COLUMNS).where(run.mine(records), some))
        found |= {row["id"]: row for row in rows}
        below = dict.fromkeys(name for row in rows for name in source_ids(row))
        wanted = [name for name in below if name not in found]
    return found
