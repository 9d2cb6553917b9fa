"""Writes the batches of a run, each table of a batch with one statement."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StoreError
from mesa_memory.stores.base import Batch
from mesa_memory.stores.columns import clean_rows
from mesa_memory.stores.schema import REPLACED_TABLES, metadata

#: the lists of a batch that change records, and the columns they give
CHANGES = {
    "graded": ("importance", "graded_at"),
    "closed": ("valid_to", "closed_because", "superseded_by", "closed_at"),
    "staled": ("stale_since", "staled_at"),
}
#: the newest checkpoints of a run that stay, besides those to be kept
NEWEST_CHECKPOINTS = 2
#: the INSERT of each dialect that may replace a row
INSERTS = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


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
    seq = _last_seq(on, run) if seq is None else seq
    for batch in batches:
        seq = _write(on, run, batch, seq)
    if any(batch.checkpoint for batch in batches):
        _prune(on, run)
    return seq


def _write(on: sa.Connection, run: int, batch: Batch, seq: int) -> int:
    """Writes a batch; the number of its last row."""
    numbered = {
        table.name: batch.opened
        if table is schema.records
        else getattr(batch, table.name)
        for table in schema.NUMBERED_TABLES
    }
    last = _number([row for rows in numbered.values() for row in rows], seq)
    if batch.finished:
        _end_step(on, run, batch.step)
        counts = {key: len(numbered[key]) for key in ("records", "recalls", "calls")}
        _insert(on, run, "steps", [counts | {"step": batch.step, "seq": last}])
    elif batch.extends:
        batch.kept |= _extend_step(on, run, batch.step, last)
    if batch.probes:
        before = max(_last(on, run, schema.calls.c.seq), schema.PROBES)
        _number(batch.probes, before)
    rows = numbered | {table: getattr(batch, table) for table in REPLACED_TABLES}
    rows["calls"] = rows["calls"] + batch.probes
    rows["checkpoints"] = [
        {"step": batch.step, "agent": agent, "state": state, "kept": batch.kept}
        for agent, state in (batch.checkpoint or {}).items()
    ]
    if batch.unfinished:
        before = _last(on, run, schema.unfinished_calls.c.number)
        _number(batch.unfinished, before, "number")
        rows["unfinished_calls"] = batch.unfinished
    for table, added in rows.items():
        if added:
            _insert(on, run, table, added)
    for kind in CHANGES:
        _change(on, run, batch, kind)
    return last


def _number(rows: Sequence[dict[str, Any]], last: int, name: str = "seq") -> int:
    """Numbers rows in order; the last number."""
    for row in rows:
        last += 1
        row[name] = last
    return last


def _change(on: sa.Connection, run: int, batch: Batch, kind: str) -> None:
    """Changes records that are in the store.

    Raises:
        StoreError: if one is not.
    """
    columns = CHANGES[kind]
    rows = [
        {"record": record} | dict(zip(columns, (*values, batch.step)))
        for record, *values in getattr(batch, kind)
    ]
    changed = _update(on, run, rows) if rows else 0
    if changed != len(rows):
        raise StoreError(
            f"{len(rows) - changed} of {len(rows)} records to be {kind} are "
            f"not in run {run}, such as {[row['record'] for row in rows[:5]]}. Record "
            "from the first step on; nothing of this batch was written."
        )


def _insert(on: sa.Connection, run: int, table: str, rows: list) -> None:
    """Adds rows to a table; of ``REPLACED_TABLES`` tables, they take the place of older ones."""
    columns = dict.fromkeys(metadata.tables[table].columns.keys())
    values = [columns | row | {"run": run} for row in clean_rows(rows)]
    on.execute(_inserting(table, on.dialect.name), values)


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


def _end_step(on: sa.Connection, run: int, step: float) -> None:
    """Deletes the answers of steps that have ended.

    Raises:
        StoreError: if the step was written before.
    """
    if (
        on.scalar(sa.select(schema.steps.c.step).filter_by(run=run, step=step))
        is not None
    ):
        raise StoreError(
            f"step {step:g} of run {run} was written before. Continue with the next "
            "step, or take the run back with truncate(run, after_step)."
        )
    answers = schema.unfinished_calls
    gone = sa.delete(answers).filter_by(run=run)
    on.execute(gone.where(answers.c.step <= step))


def _extend_step(on: sa.Connection, run: int, step: float, seq: int) -> bool:
    """Moves the end of a finished step and forgets its checkpoint; True if it was kept."""
    where = {"run": run, "step": step}
    on.execute(sa.update(schema.steps).filter_by(**where).values(seq=seq))
    kept = any(on.scalars(sa.select(schema.checkpoints.c.kept).filter_by(**where)))
    on.execute(sa.delete(schema.checkpoints).filter_by(**where))
    return kept


def _prune(on: sa.Connection, run: int) -> None:
    """Deletes all but the newest checkpoints and those to be kept."""
    old = checkpoint_steps(on, run)[NEWEST_CHECKPOINTS:]
    if old:
        table = schema.checkpoints
        delete = sa.delete(table).filter_by(run=run).where(table.c.step.in_(old))
        on.execute(delete.where(table.c.kept.is_not(sa.true())))
