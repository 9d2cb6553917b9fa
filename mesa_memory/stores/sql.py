"""A store of recorded runs in a SQL database: the part that SQLite and PostgreSQL share."""

import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

import mesa_memory.stores.schema as schema
from mesa_memory.core.text.redaction import cause, hide
from mesa_memory.errors import (
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from mesa_memory.stores.base import Batch, Options, RunInfo
from mesa_memory.stores.faults import fault
from mesa_memory.stores.leases import Leases, RunLocks
from mesa_memory.stores.schema import REPLACED_TABLES, clean_rows, metadata, storable

#: the lists of a batch that change records, and the columns they give, the step last
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
    if seq is None:
        tables = schema.NUMBERED_TABLES
        seq = max(_last(on, run, table.c.seq, schema.PROBES) for table in tables)
    finished = [batch.step for batch in batches if batch.finished]
    _check_new(on, run, finished)
    for batch in batches:
        seq = _write(on, run, batch, seq)
    if finished:
        answers = schema.unfinished_calls
        ended = sa.delete(answers).filter_by(run=run)
        on.execute(ended.where(answers.c.step <= max(finished)))
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


def _check_new(on: sa.Connection, run: int, steps: Sequence[float]) -> None:
    """Checks steps that are to be written.

    Raises:
        StoreError: if one was written before, or is there twice.
    """
    if not steps:
        return
    written = sa.select(schema.steps.c.step).filter_by(run=run)
    known = set(on.scalars(written.where(schema.steps.c.step.in_(steps))))
    for step in steps:
        if step in known:
            raise StoreError(
                f"step {step:g} of run {run} was written before. Continue with the next "
                "step, or take the run back with truncate(run, after_step)."
            )
        known.add(step)


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


class _Thread(threading.local):
    """The transactions of a thread, of all stores.

    Attributes:
        open: how many.
    """

    open = 0


_thread = _Thread()


def in_transaction() -> bool:
    """True if this thread has begun a transaction, which others may have to wait for."""
    return _thread.open > 0


class Store:
    """Stores runs. Every method may be called from any thread.

    Each raises a ``StoreError``, and then nothing of that call was written. A store that
    writes a run holds its lease from then on; ``RunInUse`` says that another writer
    has it.

    Attributes:
        location: path or address, without password.
        read_only: whether writing is refused.
    """

    def __init__(
        self,
        engine: sa.Engine,
        location: str,
        options: Options,
        locks: RunLocks | None = None,
    ) -> None:
        self.engine, self.location, self.options = engine, location, options
        # Many rows are one call of the database's module, which gives the interpreter's
        # lock away in each: the simulation's thread would wait for it row by row.
        engine.dialect.use_insertmanyvalues_wo_returning = True
        self.read_only = options.read_only
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._seqs: dict[int, int] = {}
        self._locks = locks or RunLocks()
        self._leases = Leases(self._locks)

    def prepare(self) -> None:
        """Makes the tables in a new database; checks those of another."""
        raise NotImplementedError

    def guard(self) -> None:
        """Raises if the database is another one than was opened."""

    def checkpoint_wal(self) -> None:
        """Moves the write-ahead log into the database's own file."""

    def create_tables(self, on: sa.Connection) -> None:
        """Makes every table in an empty database."""
        schema.metadata.create_all(on, checkfirst=False)
        version = {"application": schema.APPLICATION, "version": schema.VERSION}
        on.execute(sa.insert(schema.schema_version).values(version))

    def check_schema(self) -> None:
        """Checks the version and the tables of an existing store; changes nothing.

        Raises:
            StoreCorrupt: without a version, or a table lacks a column.
            StoreTooNew: if a newer version of this package wrote the store.
        """
        query = sa.select(schema.schema_version.c.version)
        with self.reading() as on:
            found = on.scalar(query.filter_by(application=schema.APPLICATION))
            if found is not None and found > schema.VERSION:
                raise StoreTooNew(
                    f"has schema version {found}; this mesa-memory reads up to "
                    f"{schema.VERSION}. Upgrade it: pip install -U mesa-memory"
                )
            wrong = None if found else f"its schema version is {found!r}"
            for table in schema.metadata.sorted_tables:
                look = sa.text(f"SELECT * FROM {table.name} LIMIT 0")  # noqa: S608
                lacking = set(table.columns.keys()) - set(on.execute(look).keys())
                if lacking:
                    wrong = f"the table {table.name} lacks {', '.join(sorted(lacking))}"
            if wrong:
                raise StoreCorrupt(
                    f"{wrong}. The file was changed or damaged; restore a backup."
                )

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A SQLAlchemy connection to read with; its errors become ``StoreError``."""
        with self._translated(), self._connection() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction, committed if the block ends without an error."""
        if self.read_only:
            raise StoreReadOnly(
                "was opened with read_only=True. Open it without, to write.",
                location=self.location,
            )
        if os.getpid() != self._process:
            raise StoreError(
                "was opened in another process. Open it again in this one.",
                location=self.location,
            )
        with self._lock, self._translated():
            self.guard()
            held = self._leases.held
            try:
                with self._connection() as plain:
                    connection = plain.execution_options(writing=True)
                    with connection.begin():
                        yield connection
            except BaseException:
                for run in set(self._leases.held) - set(held):
                    self._leases.forget(run)  # its row is missing
                raise

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        _thread.open += 1
        try:
            with self.engine.connect() as connection:
                yield connection
        finally:
            _thread.open -= 1

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise fault(error, self.location) from cause(error)
        except SQLAlchemyError as error:
            raise StoreError(str(error), location=self.location) from cause(error)
        except StoreError as error:
            error.location = error.location or self.location
            raise
        except UnicodeDecodeError as error:  # even a name in the file may be damaged
            raise StoreCorrupt(
                f"the store has text that is not valid UTF-8 ({error}). Restore a backup.",
                location=self.location,
            ) from error

    def begin(self, info: RunInfo) -> int:
        """Adds a run, with the state ``"running"``; the run's id."""
        with self.writing() as on:
            run = self.begin_on(on, info)
        self._seqs[run] = 0
        return run

    def begin_on(self, on: sa.Connection, info: RunInfo) -> int:
        """``begin``, within a transaction."""
        # Of all columns, only this one and ``leases.since`` hold a wall-clock time.
        started = datetime.now(UTC).isoformat(timespec="seconds")
        values = vars(info) | {
            "parameters": dict(info.parameters),
            "versions": dict(info.versions),
            "started": started,
            "state": "running",
        }
        insert = sa.insert(schema.runs).values(storable(hide(values)))
        run = on.scalar(insert.returning(schema.runs.c.id))
        self.confirm(on, run)
        return run

    def run_id(self, run: int | str | None = None, but: int | None = None) -> int:
        """The id of a run by its id or name; of several, and for None, the newest.

        Args:
            but: id of a run that does not count.

        Raises:
            ValueError: if the store lacks the run; lists its runs.
            StoreUnavailable: if the store does not have any run.
        """
        columns = schema.runs.c
        query = sa.select(columns.id, columns.name).order_by(columns.id.desc())
        with self.reading() as on:
            known = [row for row in on.execute(query) if row[0] != but]
        if not known:
            raise StoreUnavailable(_without_runs(self.location), location=self.location)
        meant = [
            (number != run, place, number)
            for place, (number, name) in enumerate(known)
            if run is None or run in (number, name) or run == str(number)
        ]
        if not meant or isinstance(run, bool):
            names = [f"{n} {name!r}" if name else str(n) for n, name in reversed(known)]
            raise ValueError(
                f"{self.location} does not have run {run!r}; its runs are "
                f"{', '.join(names[:12])}{', …' if len(names) > 12 else ''}"
            )
        return min(meant)[-1]

    def hold(self, run: int) -> None:
        """Takes the lease of a run, or confirms it: no other store may write it."""
        with self.writing() as on:
            self.confirm(on, run)

    def confirm(self, on: sa.Connection, run: int) -> None:
        """``hold``, within a transaction and before anything is written."""
        self._known(on, run)
        if run not in self._leases.held:
            self._seqs.pop(run, None)
        self._leases.confirm(on, run)

    def has_writer(self, on: sa.Connection, run: int) -> bool:
        """Tells if a living process holds the lease of a run."""
        return self._leases.has_writer(on, run)

    def release(self, run: int) -> None:
        """Gives the lease back, if this store has it; others may write the run."""
        if run in self._leases.held:
            try:
                with self.writing() as on:
                    self._leases.delete(on, run)
            finally:
                self._leases.forget(run)

    def write(self, run: int, *batches: Batch) -> None:
        """Writes batches in one transaction: all of them, or nothing.

        Raises:
            StoreError: also if a step was written before, or a record to change is
                missing.
        """
        with self.writing() as on:
            self.confirm(on, run)
            self._seqs[run] = write_batches(on, run, batches, self._seqs.get(run))

    def _known(self, on: sa.Connection, run: int) -> None:
        if not on.execute(sa.select(schema.runs.c.id).filter_by(id=run)).first():
            ids = list(on.scalars(sa.select(schema.runs.c.id).limit(20)))
            raise StoreError(f"it does not have run {run!r}, but {ids}")

    def end(self, run: int, state: str) -> None:
        """Sets the state, ``"finished"``, ``"stopped"`` or ``"failed"``.

        The lease is given back, and the write-ahead log is left empty.
        """
        with self.writing() as on:
            self.confirm(on, run)
            on.execute(sa.update(schema.runs).filter_by(id=run).values(state=state))
            self._leases.delete(on, run)
        self._leases.forget(run)
        self.checkpoint_wal()

    def truncate(
        self, run: int, after_step: float, changed: Mapping[str, Any] | None = None
    ) -> list[float]:
        """Takes the run back to the end of its last finished step <= ``after_step``.

        Rows written later are removed, lifetimes closed later are open again, and the
        state is ``"running"``. Answers of unfinished steps stay.

        Args:
            changed: columns of the run's row, such as ``parameters``.

        Returns:
            The finished steps that were removed, in order.
        """
        with self.writing() as on:
            self.confirm(on, run)
            removed = self.cut(on, run, after_step)
            if changed:
                of_run = sa.update(schema.runs).filter_by(id=run)
                on.execute(of_run.values(storable(hide(dict(changed)))))
        self._seqs.pop(run, None)
        return removed

    def cut(self, on: sa.Connection, run: int, after_step: float) -> list[float]:
        """``truncate``, within a transaction."""
        steps, records = schema.steps, schema.records
        kept = sa.select(sa.func.max(steps.c.seq)).filter_by(run=run)
        seq = on.scalar(kept.where(steps.c.step <= after_step)) or 0
        for columns in CHANGES.values():
            undone = sa.update(records).filter_by(run=run)
            undone = undone.where(records.c[columns[-1]] > after_step)
            on.execute(undone.values(dict.fromkeys(columns)))
        for table in schema.NUMBERED_TABLES:
            gone = sa.delete(table).filter_by(run=run)
            late_rows = (table.c.seq > seq) & (table.c.seq <= schema.PROBES)
            probes = (table.c.seq > schema.PROBES) & (table.c.step > after_step)
            on.execute(gone.where(late_rows | probes))
        later = sa.select(steps.c.step).filter_by(run=run)
        later = later.where(steps.c.step > after_step).order_by(steps.c.step)
        removed = list(on.scalars(later))
        beside = (schema.prompt_files, schema.measures, schema.responses)
        for table in (steps, schema.checkpoints, *beside):
            gone = sa.delete(table).filter_by(run=run)
            on.execute(gone.where(table.c.step > after_step))
        on.execute(sa.update(schema.runs).filter_by(id=run).values(state="running"))
        return removed

    def checkpoint(
        self, run: int, step: float | None = None
    ) -> tuple[float, dict[str, Any]]:
        """A checkpoint's step and its states by agent; the newest without ``step``."""
        table = schema.checkpoints
        with self.reading() as on:
            self._known(on, run)
            found = checkpoint_steps(on, run)
            wanted = found[0] if found and step is None else step
            if wanted is None or wanted not in found:
                asked = "" if step is None else f" of step {step:g}, only of {found}"
                raise StoreError(
                    f"run {run} has no checkpoint{asked}. One is written with the end "
                    "of the newest step; see checkpoint() and checkpoint_every."
                )
            query = sa.select(table.c.agent, table.c.state)
            query = query.filter_by(run=run, step=wanted).order_by(table.c.agent)
            return wanted, dict(on.execute(query).all())

    def steps(self, run: int) -> list[float]:
        """The finished steps of a run, in order."""
        step = schema.steps.c.step
        with self.reading() as on:
            return list(on.scalars(sa.select(step).filter_by(run=run).order_by(step)))

    def newest_checkpoint(self, run: int, until: float = math.inf) -> float | None:
        """The last step with a checkpoint, none after ``until``; None without one."""
        with self.reading() as on:
            found = checkpoint_steps(on, run)
        return next((step for step in found if step <= until), None)

    def keep(self, run: int, step: float) -> None:
        """Keeps the checkpoint of a step when there are newer ones."""
        table = schema.checkpoints
        with self.writing() as on:
            self.confirm(on, run)
            stays = sa.update(table).filter_by(run=run, step=step).values(kept=True)
            if not on.execute(stays).rowcount:
                raise StoreError(
                    f"run {run} has no checkpoint of step {step:g}, only of "
                    f"{checkpoint_steps(on, run)}"
                )

    def close(self) -> None:
        """Closes the connections and gives all leases back."""
        for run in self._leases.held:
            with suppress(StoreError):  # without its lock, the row does not count
                self.release(run)
        self._locks.close()
        self.engine.dispose()


def _without_runs(location: str) -> str:
    if "://" in location:
        return "it does not contain a recorded run."
    return (
        "it does not contain a recorded run. If it is a copy of a file that was being "
        "written, the original's -wal file is missing: copy it again with "
        "mesa-memory copy ORIGINAL TARGET."
    )
