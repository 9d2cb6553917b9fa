"""Writes the batches of a run, each table with one statement for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StoreError
from mesa_memory.stores.base import Batch
from mesa_memory.stores.columns import clean_rows, json_text
from mesa_memory.stores.schema import PROBES, REPLACED_TABLES, metadata

#: the key of a row within its run, in the tables in which a row may replace an older one
_KEYS = {
    name: tuple(c.name for c in metadata.tables[name].primary_key if c.name != "run")
    for name in REPLACED_TABLES
}
#: the lists of a batch that change records, and the columns they give
CHANGES = {
    "graded": ("importance", "graded_at"),
    "closed": ("valid_to", "closed_because", "superseded_by", "closed_at"),
    "embedded": ("embedding", "embedder"),
    "staled": ("stale_since", "staled_at"),
}


#: the newest checkpoints of a run that stay, besides those to be kept
NEWEST_CHECKPOINTS = 2
#: the INSERT of each dialect that may replace a row
INSERTS = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


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
    names = [table.name for table in schema.NUMBERED_TABLES]
    tables = (*names, "steps", *REPLACED_TABLES, "checkpoints", "unfinished_calls")
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
    for table in (each.name for each in schema.NUMBERED_TABLES):
        rows = batch.opened if table == "records" else getattr(batch, table)
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
        for batch in batches:
            for record, *values in getattr(batch, kind):
                new = dict(zip(columns, (*values, batch.step)))
                place = places.get(record)
                if place is None:
                    older[record] = {"record": record} | new
                else:  # the caller's row stays as it is
                    opened[place] = opened[place] | new
        merged.changes[kind] = list(older.values())


def write_batches(
    on: sa.Connection, run: int, batches: Sequence[Batch], seq: int | None
) -> int:
    """Writes batches; the number of the last row.

    Args:
        on: a connection, within a transaction.
        seq: number of the last row before; None looks it up.

    Raises:
        StoreError: if a step was written before, or a record to change is missing.
    """
    rows = schema.unfinished_calls.c.number, schema.calls.c.seq
    answer = _last(on, run, rows[0]) if any(b.unfinished for b in batches) else 0
    probe = _last(on, run, rows[1]) if any(b.probes for b in batches) else 0
    seq = _last_seq(on, run) if seq is None else seq
    new = merge(batches, seq, answer, max(probe, schema.PROBES))
    _refuse_finished(on, run, new.steps)
    _end_steps(on, run, new)
    for table, added in new.inserts.items():
        if added:
            _insert(on, run, table, added)
    for kind, changes in new.changes.items():
        changed = _update(on, run, changes) if changes else 0
        if changed != len(changes):
            raise StoreError(
                f"{len(changes) - changed} of {len(changes)} records to be {kind} are "
                f"not in run {run}, such as {[row['record'] for row in changes[:5]]}. Record "
                "from the first step on; nothing of this batch was written."
            )
    if new.inserts["checkpoints"]:
        _prune(on, run)
    return new.seq


def _insert(on: sa.Connection, run: int, table: str, rows: list) -> None:
    """Adds rows to a table; of ``REPLACED_TABLES`` tables, they take the place of older ones."""
    columns = dict.fromkeys(metadata.tables[table].columns.keys())
    values = [columns | row | {"run": run} for row in clean_rows(rows)]
    if table == "records":
        for row in values:
            if row["text"] is None:
                row["text"] = _text(row)
    on.execute(_inserting(table, on.dialect.name), values)


def _text(row: dict[str, Any]) -> str | None:
    """The text of a record that lacks one, from its kind and content."""
    content = row["content"]
    return None if content is None else f"{row['kind']}: {json_text(content)}"


@cache
def _inserting(name: str, dialect: str) -> Any:
    table = metadata.tables[name]
    insert: Any = INSERTS[dialect](table)
    if name not in REPLACED_TABLES:
        return insert
    new = {c.name: insert.excluded[c.name] for c in table.c if not c.primary_key}
    return insert.on_conflict_do_update(index_elements=table.primary_key, set_=new)


def _update(on: sa.Connection, run: int, rows: list[dict[str, Any]]) -> int:
    """Changes records; the number of records changed."""
    columns = schema.records.c
    given = [row | {"of_run": run} for row in clean_rows(rows)]
    own = (columns.run == sa.bindparam("of_run"), columns.id == sa.bindparam("record"))
    return on.execute(sa.update(schema.records).where(*own), given).rowcount


def checkpoint_steps(on: sa.Connection, run: int) -> list[float]:
    """The steps of a run's checkpoints, newest first."""
    step = schema.checkpoints.c.step
    query = sa.select(step).filter_by(run=run).distinct().order_by(step.desc())
    return list(on.scalars(query))


def _last(on: sa.Connection, run: int, column: Any, below: int | None = None) -> int:
    """The highest number in a column."""
    query = sa.select(sa.func.max(column)).where(column.table.c.run == run)
    return on.scalar(query if below is None else query.where(column <= below)) or 0


def _last_seq(on: sa.Connection, run: int) -> int:
    return max(_last(on, run, t.c.seq, schema.PROBES) for t in schema.NUMBERED_TABLES)


def _refuse_finished(on: sa.Connection, run: int, new: list[float]) -> None:
    step = schema.steps.c.step
    query = sa.select(step).filter_by(run=run).where(step.in_(new))
    found = on.scalar(query) if new else None
    if found is not None:
        raise StoreError(
            f"step {found:g} of run {run} was written before. Continue with the next "
            "step, or take the run back with truncate(run, after_step)."
        )


def _end_steps(on: sa.Connection, run: int, new: MergedBatch) -> None:
    """Deletes the answers of ended steps, and moves the ends of extended steps."""
    if new.ended is not None:
        table = schema.unfinished_calls
        gone = sa.delete(table).filter_by(run=run)
        on.execute(gone.where(table.c.step <= new.ended))
    for step, seq in new.extended.items():
        where = {"run": run, "step": step}
        on.execute(sa.update(schema.steps).filter_by(**where).values(seq=seq))
        kept = any(on.scalars(sa.select(schema.checkpoints.c.kept).filter_by(**where)))
        on.execute(sa.delete(schema.checkpoints).filter_by(**where))
        for row in new.inserts["checkpoints"]:
            row["kept"] = row["kept"] or (kept and row["step"] == step)


def _prune(on: sa.Connection, run: int) -> None:
    """Deletes all but the newest checkpoints and those to be kept."""
    old = checkpoint_steps(on, run)[NEWEST_CHECKPOINTS:]
    if old:
        table = schema.checkpoints
        delete = sa.delete(table).filter_by(run=run).where(table.c.step.in_(old))
        on.execute(delete.where(table.c.kept.is_not(sa.true())))
