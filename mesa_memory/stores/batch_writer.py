"""Writes the batches of a run within a transaction."""

from collections.abc import Sequence
from typing import Any, Protocol

import sqlalchemy as sa

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StoreError
from mesa_memory.stores.base import Batch, Options
from mesa_memory.stores.batches import MergedBatch, merge


class _Database(Protocol):
    """The part of a store that writes rows."""

    location: str
    options: Options

    def insert(self, on: sa.Connection, run: int, table: str, rows: list) -> None: ...

    def update(self, on: sa.Connection, run: int, kind: str, rows: list) -> int: ...


def write_batches(
    database: _Database,
    on: sa.Connection,
    run: int,
    batches: Sequence[Batch],
    seq: int | None,
) -> int:
    """Writes batches; the number of the last row.

    Args:
        database: the store that ``on`` belongs to.
        seq: number of the last row before; None looks it up.

    Raises:
        StoreError: if a step was written before, or a record to change is missing.
    """
    rows = schema.unfinished_calls.c.number, schema.calls.c.seq
    answer = _last(on, run, rows[0]) if any(b.unfinished for b in batches) else 0
    probe = _last(on, run, rows[1]) if any(b.probes for b in batches) else 0
    seq = _last_seq(on, run) if seq is None else seq
    new = merge(batches, seq, answer, max(probe, schema.PROBES))
    _refuse_finished(database, on, run, new.steps)
    _end_steps(on, run, new)
    for table, added in new.inserts.items():
        if added:
            database.insert(on, run, table, added)
    for kind, changes in new.changes.items():
        changed = database.update(on, run, kind, changes) if changes else 0
        if changed != len(changes):
            raise StoreError(
                f"{len(changes) - changed} of {len(changes)} records to be {kind} are "
                f"not in run {run}, such as {[row['id'] for row in changes[:5]]}. Record "
                "from the first step on; nothing of this batch was written.",
                location=database.location,
            )
    if new.inserts["checkpoints"]:
        _prune(on, run, database.options.keep)
    return new.seq


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
    return max(_last(on, run, t.c.seq, schema.PROBES) for t in schema.NUMBERED)


def _refuse_finished(
    database: _Database, on: sa.Connection, run: int, new: list[float]
) -> None:
    step = schema.steps.c.step
    query = sa.select(step).filter_by(run=run).where(step.in_(new))
    found = on.scalar(query) if new else None
    if found is not None:
        raise StoreError(
            f"step {found:g} of run {run} was written before. Continue with the next "
            "step, or take the run back with truncate(run, after_step).",
            location=database.location,
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


def _prune(on: sa.Connection, run: int, keep: int) -> None:
    """Deletes all but the newest checkpoints and those to be kept."""
    old = checkpoint_steps(on, run)[keep:]
    if old:
        table = schema.checkpoints
        delete = sa.delete(table).filter_by(run=run).where(table.c.step.in_(old))
        on.execute(delete.where(table.c.kept.is_not(sa.true())))
