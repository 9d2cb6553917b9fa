"""The verdicts of the write gate of facts, on kept and refused statements."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.core.records import EVENT, REFUSED
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.state import COLUMNS
from mesa_memory.runs.table import Table, table

#: kind of the records of facts
FACT_KIND = "fact"
#: what the gate says of a statement
GATE_FIELDS = ("fact", "stable", "useful")
SHOWN_COLUMNS = (
    "step", "agent", "layer", "id", "text", "kept", *GATE_FIELDS, "speakers", "sources",
)  # fmt: skip


def verdicts(run: RecordedRun, agent: Any, step: Any) -> Table:
    """See ``Run.verdicts``."""
    records = schema.records
    wanted = select(*COLUMNS).where(run.mine(records), records.c.kind == FACT_KIND)
    if agent is not None:
        wanted = wanted.where(records.c.agent == run.name_of(agent))
    rows = run.table(wanted.order_by(records.c.seq)).rows
    found = list(_verdicts(rows))
    if step is not None:
        at = run.step(step)
        found = [row for row in found if row["step"] == at]
    return table(SHOWN_COLUMNS, found)


def _verdicts(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row for each statement that was judged, in the order of the statements."""
    told: dict[str, Any] = {}  # what each fact says now, by the id of its successor
    for row in rows:
        content = row["content"] if isinstance(row["content"], dict) else {}
        gate = content.get("gate")
        state = [content.get(name) for name in ("value", "strength", "last")]
        before = told.pop(row["id"], None)
        if row["superseded_by"]:
            told[row["superseded_by"]] = state
        # A fact under another name, or with a speaker less, was not stated again.
        if row["origin"] == EVENT or not isinstance(gate, dict) or not gate:
            continue
        if before == state:
            continue
        yield row | {
            "step": row["valid_from"],
            "kept": row["closed_because"] != REFUSED,
            "speakers": content.get("speakers"),
            **{name: gate.get(name) for name in GATE_FIELDS},
        }
