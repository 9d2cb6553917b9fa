"""Merges batches, so that each table is written with one statement for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from mesa_memory.stores.base import Batch
from mesa_memory.stores.schema import PROBES, REPLACED, metadata

#: the tables whose rows are numbered, in this order within a batch, and their lists
NUMBERED = {
    "records": "opened",
    "recalls": "recalls",
    "prompts": "prompts",
    "calls": "calls",
    "interventions": "interventions",
    "answers": "answers",
    "scenes": "scenes",
}
#: the key of a row within its run, in the tables in which a row may replace an older one
_KEYS = {
    name: tuple(c.name for c in metadata.tables[name].primary_key if c.name != "run")
    for name in REPLACED
}
#: the lists of a batch that change records, and the columns they give
CHANGES = {
    "graded": ("importance", "graded_at"),
    "closed": ("valid_to", "closed_because", "superseded_by", "closed_at"),
    "embedded": ("embedding", "embedder"),
    "staled": ("stale_since", "staled_at"),
}


@dataclass
class MergedBatch:
    """The rows of several batches, table by table.

    Attributes:
        seq: the number of the last row.
        inserts: rows by table.
        changes: rows of new values by kind (see ``CHANGES``), for records that were
            written before.
        ended: the newest finished step, or None.
        extended: the new last number of steps that were finished before.
    """

    seq: int
    inserts: dict[str, list[dict[str, Any]]]
    changes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    ended: float | None = None
    extended: dict[float, int] = field(default_factory=dict)

    @property
    def steps(self) -> list[float]:
        """The finished steps."""
        return [row["step"] for row in self.inserts["steps"]]


def merge(
    batches: Sequence[Batch], seq: int, number: int = 0, probe: int = PROBES
) -> MergedBatch:
    """Numbers the rows of the batches and merges them.

    Records are written as they are at the end of the last batch.

    Args:
        batches: in order.
        seq: the number of the last row written before.
        number: the number of the last answer of an unfinished step.
        probe: the number of the last probe written before.
    """
    tables = (*NUMBERED, "steps", *REPLACED, "checkpoints", "unfinished_calls")
    merged = MergedBatch(seq, {table: [] for table in tables})
    probes = count(probe + 1)
    for batch in batches:
        _number(batch, merged)
        for row in batch.probes:
            row["seq"] = next(probes)
        merged.inserts["calls"] += batch.probes
        _unfinished(batch, merged, number)
        if batch.extends:
            _forget_checkpoint(batch, merged)
        for agent, state in (batch.checkpoint or {}).items():
            row = {"step": batch.step, "agent": agent, "state": state}
            row["kept"] = batch.kept
            merged.inserts["checkpoints"].append(row)
    for table, key in _KEYS.items():
        rows = {
            tuple(row[name] for name in key): row
            for batch in batches
            for row in getattr(batch, table)
        }
        merged.inserts[table] = list(rows.values())
    _change(batches, merged)
    return merged


def _number(batch: Batch, merged: MergedBatch) -> None:
    counts = {}
    for table, name in NUMBERED.items():
        rows = getattr(batch, name)
        counts[table] = len(rows)
        for row in rows:
            merged.seq += 1
            row["seq"] = merged.seq
        merged.inserts[table] += rows
    if batch.finished:
        row = {key: counts[key] for key in ("records", "recalls", "calls")}
        row |= {"step": batch.step, "seq": merged.seq}
        merged.inserts["steps"].append(row)
    elif batch.extends:
        rows = [r for r in merged.inserts["steps"] if r["step"] == batch.step]
        for row in rows:
            row["seq"] = merged.seq
        if not rows:
            merged.extended[batch.step] = merged.seq


def _unfinished(batch: Batch, merged: MergedBatch, number: int) -> None:
    waiting = merged.inserts["unfinished_calls"]
    if batch.finished:
        merged.ended = batch.step
        waiting[:] = [row for row in waiting if row["step"] > batch.step]
    last = waiting[-1]["number"] if waiting else number
    waiting += [
        row | {"number": last + n} for n, row in enumerate(batch.unfinished, start=1)
    ]


def _forget_checkpoint(batch: Batch, merged: MergedBatch) -> None:
    """The step has a new end; how long its checkpoint stays does not change."""
    older = [r for r in merged.inserts["checkpoints"] if r["step"] == batch.step]
    batch.kept = batch.kept or any(row["kept"] for row in older)
    rest = [r for r in merged.inserts["checkpoints"] if r["step"] != batch.step]
    merged.inserts["checkpoints"] = rest


def _change(batches: Sequence[Batch], merged: MergedBatch) -> None:
    opened = merged.inserts["records"]
    places = {row["id"]: place for place, row in enumerate(opened)}
    for kind, columns in CHANGES.items():
        older: dict[str, dict[str, Any]] = {}
        names = ("id", *columns)
        for batch in batches:
            for values in getattr(batch, kind):
                new = dict(zip(names, (*values, batch.step)))
                place = places.get(values[0])
                if place is None:
                    older[values[0]] = new
                else:  # the caller's row stays as it is
                    opened[place] = opened[place] | new
        merged.changes[kind] = list(older.values())
