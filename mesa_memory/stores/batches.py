"""Several batches as one: each table is written with one statement for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.stores.base import Batch
from mesa_memory.stores.schema import REPLACED

#: the tables whose rows are numbered, in this order within a batch, and their lists
NUMBERED = {
    "records": "opened",
    "recalls": "recalls",
    "prompts": "prompts",
    "calls": "calls",
    "interventions": "interventions",
    "answers": "answers",
}
#: the lists of a batch that change records, and the columns they give
CHANGES = {
    "graded": ("importance", "graded_at"),
    "closed": ("valid_to", "closed_because", "superseded_by"),
    "embedded": ("embedding", "embedder"),
}


@dataclass
class Together:
    """What batches write, table by table.

    Attributes:
        seq: the number of the last row.
        inserts: rows by table.
        changes: rows of new values by kind (see ``CHANGES``), for records that were
            written before.
    """

    seq: int
    inserts: dict[str, list[dict[str, Any]]]
    changes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def steps(self) -> list[float]:
        """The finished steps."""
        return [row["step"] for row in self.inserts["steps"]]


def together(batches: Sequence[Batch], seq: int) -> Together:
    """Numbers the rows of the batches and brings them together.

    Records are written as they are at the end of the last batch.

    Args:
        batches: in order.
        seq: the number of the last row written before.
    """
    tables = (*NUMBERED, "steps", *REPLACED, "checkpoints")
    all_of = Together(seq, {table: [] for table in tables})
    for batch in batches:
        _number(batch, all_of)
        for agent, state in (batch.checkpoint or {}).items():
            row = {"step": batch.step, "agent": agent, "state": state}
            row["kept"] = batch.kept
            all_of.inserts["checkpoints"].append(row)
    for table, key in (("agents", "agent"), ("vectors", "key")):
        rows = {row[key]: row for batch in batches for row in getattr(batch, table)}
        all_of.inserts[table] = list(rows.values())
    _change(batches, all_of)
    return all_of


def _number(batch: Batch, all_of: Together) -> None:
    counts = {}
    for table, name in NUMBERED.items():
        rows = getattr(batch, name)
        counts[table] = len(rows)
        for row in rows:
            all_of.seq += 1
            row["seq"] = all_of.seq
        all_of.inserts[table] += rows
    if batch.finished:
        row = {key: counts[key] for key in ("records", "recalls", "calls")}
        row |= {"step": batch.step, "seq": all_of.seq}
        all_of.inserts["steps"].append(row)


def _change(batches: Sequence[Batch], all_of: Together) -> None:
    opened = all_of.inserts["records"]
    places = {row["id"]: place for place, row in enumerate(opened)}
    for kind, columns in CHANGES.items():
        older: dict[str, dict[str, Any]] = {}
        names = ("id", *columns)
        for batch in batches:
            for values in getattr(batch, kind):
                new = dict(zip(names, values))
                place = places.get(values[0])
                if place is None:
                    older[values[0]] = new
                else:  # the caller's row stays as it is
                    opened[place] = opened[place] | new
        all_of.changes[kind] = list(older.values())
