"""Several batches as one: each table is written with one statement for all of them."""

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
#: what tells the rows of a run apart in the tables where one may replace an older one
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
class Together:
    """What batches write, table by table.

    Attributes:
        seq: the number of the last row.
        inserts: rows by table.
        changes: rows of new values by kind (see ``CHANGES``), for records that were
            written before.
        ended: the newest finished step; None if there is none.
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


def together(
    batches: Sequence[Batch], seq: int, number: int = 0, probe: int = PROBES
) -> Together:
    """Numbers the rows of the batches and brings them together.

    Records are written as they are at the end of the last batch.

    Args:
        batches: in order.
        seq: the number of the last row written before.
        number: that of the last answer of an unfinished step.
        probe: that of the last probe written before.
    """
    tables = (*NUMBERED, "steps", *REPLACED, "checkpoints", "unfinished_calls")
    all_of = Together(seq, {table: [] for table in tables})
    probes = count(probe + 1)
    for batch in batches:
        _number(batch, all_of)
        for row in batch.probes:
            row["seq"] = next(probes)
        all_of.inserts["calls"] += batch.probes
        _unfinished(batch, all_of, number)
        if batch.extends:
            _forget_checkpoint(batch, all_of)
        for agent, state in (batch.checkpoint or {}).items():
            row = {"step": batch.step, "agent": agent, "state": state}
            row["kept"] = batch.kept
            all_of.inserts["checkpoints"].append(row)
    for table, key in _KEYS.items():
        rows = {
            tuple(row[name] for name in key): row
            for batch in batches
            for row in getattr(batch, table)
        }
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
    elif batch.extends:
        rows = [r for r in all_of.inserts["steps"] if r["step"] == batch.step]
        for row in rows:
            row["seq"] = all_of.seq
        if not rows:
            all_of.extended[batch.step] = all_of.seq


def _unfinished(batch: Batch, all_of: Together, number: int) -> None:
    waiting = all_of.inserts["unfinished_calls"]
    if batch.finished:
        all_of.ended = batch.step
        waiting[:] = [row for row in waiting if row["step"] > batch.step]
    last = waiting[-1]["number"] if waiting else number
    waiting += [
        row | {"number": last + n} for n, row in enumerate(batch.unfinished, start=1)
    ]


def _forget_checkpoint(batch: Batch, all_of: Together) -> None:
    """The step has a new end; how long its checkpoint stays does not change."""
    older = [r for r in all_of.inserts["checkpoints"] if r["step"] == batch.step]
    batch.kept = batch.kept or any(row["kept"] for row in older)
    rest = [r for r in all_of.inserts["checkpoints"] if r["step"] != batch.step]
    all_of.inserts["checkpoints"] = rest


def _change(batches: Sequence[Batch], all_of: Together) -> None:
    opened = all_of.inserts["records"]
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
        all_of.changes[kind] = list(older.values())
