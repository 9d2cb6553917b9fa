"""Copies of a recorded run, in the same store or into another one, and of a file."""

import sqlite3
from collections.abc import Container, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.text.redaction import hide
from mesa_memory.errors import StoreError
from mesa_memory.stores.faults import fault
from mesa_memory.stores.open import is_path, open_store
from mesa_memory.stores.schema import (
    UNOWNED_TABLES,
    calls,
    cases,
    checkpoints,
    metadata,
    runs,
    spending,
    storable,
    unfinished_calls,
)
from mesa_memory.stores.sql import Store
from mesa_memory.stores.studies import CaseRow

#: rows that are read at once from another store
ROWS_AT_ONCE = 1_000


def copy_run(
    store: Store, run: int, step: float, name: str | None, changed: Mapping[str, Any]
) -> int:
    """Copies a run up to the end of a step into a new run; its id.

    The copy knows its parent. Nothing is shared: rows are copied, in one transaction,
    and the store holds the lease of the copy.

    Args:
        changed: further columns of the copy's row.

    Raises:
        StoreError: if the store fails; nothing is copied then.
    """
    with store.writing() as on:
        old = on.execute(sa.select(runs).filter_by(id=run)).mappings().one()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        values = dict(old, name=hide(name), started=now, state="running")
        values |= {"parent": run, "parent_step": step}
        values |= storable(hide(dict(changed)))
        del values["id"]
        copy = on.scalar(sa.insert(runs).values(values).returning(runs.c.id))
        _copy_rows(on, run, copy)
        store.cut(on, copy, step)
        store.confirm(on, copy)
    return copy


def copy_beginning(store: Store, source: int, run: int, step: float) -> None:
    """Fills an empty run with another run, up to the end of a step.

    The other run paid for its calls: the copied calls count as answered by a recorded
    run. Of the checkpoints, only the last is copied.

    Args:
        source, run: ids of the other run, and of this one, whose lease the store has.

    Raises:
        StoreError: if the store fails; nothing is copied then.
    """
    with store.writing() as on:
        store.confirm(on, run)
        parent = {"parent": source, "parent_step": step}
        on.execute(sa.update(runs).filter_by(id=run).values(parent))
        _copy_rows(on, source, run, but=(*UNOWNED_TABLES, unfinished_calls.name))
        store.cut(on, run, step)
        free = sa.case((calls.c.error.is_(None), 0.0))
        asked = sa.update(calls).filter_by(run=run)
        on.execute(asked.values(replayed=True, cost=free))
        earlier = sa.delete(checkpoints).filter_by(run=run)
        on.execute(earlier.where(checkpoints.c.step < step))


def _copy_rows(
    on: sa.Connection, source: int, run: int, but: Container[str] = UNOWNED_TABLES
) -> None:
    """Copies the rows of a run into another run, except those of some tables."""
    for table in metadata.sorted_tables:
        if "run" not in table.c or table.name in but:
            continue
        names = [column.name for column in table.c if column.name != "run"]
        rows = sa.select(sa.literal(run), *(table.c[n] for n in names))
        rows = rows.where(table.c.run == source)
        on.execute(sa.insert(table).from_select(["run", *names], rows))


def copy_case(source: Store, case: CaseRow, target: Store, mine: CaseRow) -> None:
    """Copies the run of a case into another store, in one transaction.

    A run that the case had there, and that did not finish, is replaced. The run's parent
    is forgotten, as it has another number there or is not there.

    Args:
        source: has the case and its run; it is read.
        target: has the same case, by key, as ``mine``.

    Raises:
        StoreError: if a store fails; nothing is copied then.
    """
    owned = [
        table for table in metadata.sorted_tables
        if "run" in table.c and table.name not in UNOWNED_TABLES
    ]  # fmt: skip
    ended = {
        name: getattr(case, name)
        for name in ("state", "done", "ended", "usage", "error", "fingerprint")
    }
    here = {"study": mine.study, "number": mine.number}
    with source.reading() as there, target.writing() as on:
        old = there.execute(sa.select(runs).filter_by(id=case.run)).mappings().one()
        values = {**old, "parent": None, "parent_step": None}
        del values["id"]
        run = on.scalar(sa.insert(runs).values(values).returning(runs.c.id))
        for table in owned:
            if mine.run is not None:
                on.execute(sa.delete(table).filter_by(run=mine.run))
            _copy(there, on, table, {"run": case.run}, {"run": run})
        if mine.run is not None:
            on.execute(sa.delete(runs).filter_by(id=mine.run))
        on.execute(sa.delete(spending).filter_by(**here))
        _copy(there, on, spending, {"study": case.study, "number": case.number}, here)
        on.execute(sa.update(cases).filter_by(**here).values(run=run, **ended))


def _copy(
    there: sa.Connection,
    on: sa.Connection,
    table: sa.Table,
    where: dict[str, Any],
    changed: dict[str, Any],
) -> None:
    """Copies rows of a table with some values changed."""
    found = there.execute(
        sa.select(table).filter_by(**where).execution_options(yield_per=ROWS_AT_ONCE)
    )
    for rows in found.mappings().partitions():
        on.execute(sa.insert(table), [{**row, **changed} for row in rows])


def copy_file(source: str | Path, target: str | Path) -> Path:
    """Copies a SQLite file with all its runs, also while a run is being written.

    The copy is complete. A copy made by the system lacks the newest rows, which are in
    another file beside it. No run of the copy has a writer.

    Args:
        source: path of a store.
        target: path of a file that is not there yet.

    Raises:
        FileExistsError: if there is a file at ``target``.
        StoreError: if the source is not a store in a file, or the copy cannot be written.
    """
    if not is_path(str(source)):
        raise StoreError(
            "only a file can be copied. For a database use pg_dump or "
            "mesa-memory export.",
            location=str(source),
        )
    path = Path(target).expanduser().absolute()
    if path.exists():
        raise FileExistsError(f"{path} exists already; choose another name")
    with closing(open_store(source, read_only=True)) as store:
        try:
            with store.reading() as on, closing(sqlite3.connect(path)) as copy:
                raw: Any = on.connection.driver_connection
                raw.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
                copy.execute("DELETE FROM leases")
                copy.commit()
        except sqlite3.Error as error:
            path.unlink(missing_ok=True)
            raise fault(error, str(path)) from error
    return path
