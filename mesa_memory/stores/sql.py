"""What SQLite and PostgreSQL have in common: runs, steps, checkpoints in SQL."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from mesa_memory.core.text.redaction import cause, hide
from mesa_memory.errors import (
    RunInUse,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from mesa_memory.stores import schema
from mesa_memory.stores.base import Batch, Options, RunInfo
from mesa_memory.stores.batches import CHANGES, Together, together
from mesa_memory.stores.leases import Leases, NoLocks, RunLocks
from mesa_memory.stores.rows import Blobs, storable

STATES = ("running", "finished", "stopped", "failed")


class SqlStore(ABC):
    """A store in a SQL database; see ``mesa_memory.stores.base.Store``.

    Subclasses say how many rows get into a table with one statement, and what the
    database's errors mean.
    """

    def __init__(
        self,
        engine: sa.Engine,
        location: str,
        options: Options,
        locks: RunLocks | None = None,
    ) -> None:
        self.engine, self.location, self.options = engine, location, options
        self.read_only = options.read_only
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._seqs: dict[int, int] = {}
        self._locks = NoLocks() if locks is None else locks
        self._leases = Leases(self._locks)

    @abstractmethod
    def insert(self, on: sa.Connection, run: int, table: str, rows: list) -> None:
        """Adds rows to a table."""

    @abstractmethod
    def update(self, on: sa.Connection, run: int, kind: str, rows: list) -> int:
        """Changes records, see ``batches.CHANGES``; how many there were."""

    @abstractmethod
    def fault(self, error: DBAPIError) -> StoreError:
        """What a database's error means."""

    def guard(self) -> None:  # noqa: B027 - a server cannot be moved away
        """Raises if the database is not the one that was opened."""

    def rest(self) -> None:  # noqa: B027 - a server does that itself
        """Brings what waits in other files into the database's own."""

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to read with; see ``Store``."""
        with self._translated(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction: written whole if the block ends, else not at all."""
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
                with self.engine.connect() as plain:
                    connection = plain.execution_options(writing=True)
                    with connection.begin():
                        yield connection
            except BaseException:
                for run in set(self._leases.held) - set(held):
                    self._leases.forget(run)  # nothing says that it is ours
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self.fault(error) from cause(error)
        except SQLAlchemyError as error:
            raise StoreError(str(error), location=self.location) from cause(error)
        except StoreCorrupt as error:
            if error.location:
                raise
            # A field that is wrong does not know in which store it is.
            raise StoreCorrupt(str(error), location=self.location) from error
        except UnicodeDecodeError as error:  # even a name in the file may be damaged
            raise StoreCorrupt(
                f"it holds text that is not valid UTF-8 ({error}). Restore a backup.",
                location=self.location,
            ) from error

    def begin(self, info: RunInfo) -> int:
        """Adds a run; its id."""
        with self.writing() as on:
            run = self.begin_on(on, info)
        self._seqs[run] = 0
        return run

    def begin_on(self, on: sa.Connection, info: RunInfo) -> int:
        """``begin``, within a transaction."""
        started = info.started or datetime.now(UTC).isoformat(timespec="seconds")
        values = vars(info) | {
            "parameters": dict(info.parameters),
            "versions": dict(info.versions),
            "started": started,
            "state": "running",
        }
        insert = sa.insert(schema.runs).values(storable(hide(values), Blobs().add))
        run = on.scalar(insert.returning(schema.runs.c.id))
        self.confirm(on, run)
        return run

    def hold(self, run: int) -> None:
        """Takes or confirms the lease of a run; see ``Store``."""
        with self.writing() as on:
            self.confirm(on, run)

    def confirm(self, on: sa.Connection, run: int) -> None:
        """Makes sure that nobody else writes the run; before anything is written."""
        self._known(on, run)
        if run not in self._leases.held:
            self._seqs.pop(run, None)
        try:
            self._leases.confirm(on, run)
        except (RunInUse, StoreUnavailable) as error:
            error.location = self.location
            raise

    def has_writer(self, on: sa.Connection, run: int) -> bool:
        """Tells if a living process holds the lease of a run."""
        return self._leases.has_writer(on, run)

    def release(self, run: int) -> None:
        """Gives a lease back; see ``Store``."""
        if run in self._leases.held:
            try:
                with self.writing() as on:
                    self._leases.delete(on, run)
            finally:
                self._leases.forget(run)

    def write(self, run: int, *batches: Batch) -> None:
        """Writes batches in one transaction; see ``Store``."""
        with self.writing() as on:
            self.confirm(on, run)
            seq = self._seqs.get(run)
            seq = self._last_seq(on, run) if seq is None else seq
            answer = self._last_number(on, run, batches)
            new = together(batches, seq, answer, self._last_probe(on, run, batches))
            self._refuse_finished(on, run, new.steps)
            self._end_steps(on, run, new)
            for table, rows in new.inserts.items():
                if rows:
                    self.insert(on, run, table, rows)
            for kind, rows in new.changes.items():
                if rows:
                    self._change(on, run, kind, rows)
            if new.inserts["checkpoints"]:
                self._prune(on, run)
        self._seqs[run] = new.seq

    def _last_number(
        self, on: sa.Connection, run: int, batches: tuple[Batch, ...]
    ) -> int:
        if not any(batch.unfinished for batch in batches):
            return 0
        number = sa.func.max(schema.unfinished_calls.c.number)
        return on.scalar(sa.select(number).filter_by(run=run)) or 0

    def _last_probe(
        self, on: sa.Connection, run: int, batches: tuple[Batch, ...]
    ) -> int:
        if not any(batch.probes for batch in batches):
            return schema.PROBES
        seq = schema.calls.c.seq
        last = sa.select(sa.func.max(seq)).filter_by(run=run)
        return on.scalar(last.where(seq > schema.PROBES)) or schema.PROBES

    def _end_steps(self, on: sa.Connection, run: int, new: Together) -> None:
        """Forgets the answers of ended steps, and puts off ends that were no ends."""
        if new.ended is not None:
            table = schema.unfinished_calls
            gone = sa.delete(table).filter_by(run=run)
            on.execute(gone.where(table.c.step <= new.ended))
        for step, seq in new.extended.items():
            where = {"run": run, "step": step}
            on.execute(sa.update(schema.steps).filter_by(**where).values(seq=seq))
            kept = sa.select(schema.checkpoints.c.kept).filter_by(**where)
            stays = any(on.scalars(kept))
            on.execute(sa.delete(schema.checkpoints).filter_by(**where))
            for row in new.inserts["checkpoints"]:
                row["kept"] = row["kept"] or (stays and row["step"] == step)

    def _refuse_finished(self, on: sa.Connection, run: int, new: list[float]) -> None:
        step = schema.steps.c.step
        query = sa.select(step).filter_by(run=run).where(step.in_(new))
        found = on.scalar(query) if new else None
        if found is not None:
            raise StoreError(
                f"step {found:g} of run {run} is written already. Go on with the next "
                "step, or take the run back with truncate(run, after_step).",
                location=self.location,
            )

    def _change(self, on: sa.Connection, run: int, kind: str, rows: list) -> None:
        changed = self.update(on, run, kind, rows)
        if changed != len(rows):
            raise StoreError(
                f"{len(rows) - changed} of {len(rows)} records to be {kind} are not in "
                f"run {run}, such as one of {[row['id'] for row in rows[:5]]}. Record "
                "from the first step on; nothing of this batch was written.",
                location=self.location,
            )

    def _last_seq(self, on: sa.Connection, run: int) -> int:
        self._known(on, run)
        found = []
        for table in schema.NUMBERED:
            last = sa.select(sa.func.max(table.c.seq)).filter_by(run=run)
            found.append(on.scalar(last.where(table.c.seq <= schema.PROBES)) or 0)
        return max(found)

    def _known(self, on: sa.Connection, run: int) -> None:
        if not on.execute(sa.select(schema.runs.c.id).filter_by(id=run)).first():
            ids = list(on.scalars(sa.select(schema.runs.c.id).limit(20)))
            raise StoreError(
                f"there is no run {run!r} here, but {ids}", location=self.location
            )

    def end(self, run: int, state: str) -> None:
        """Sets the state of a run, gives its lease back; see ``Store``."""
        if state not in STATES:
            raise ValueError(f"a run's state is one of {STATES}, got {state!r}")
        with self.writing() as on:
            self.confirm(on, run)
            on.execute(sa.update(schema.runs).filter_by(id=run).values(state=state))
            self._leases.delete(on, run)
        self._leases.forget(run)
        self.rest()

    def truncate(
        self,
        run: int,
        after_step: float,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[float]:
        """Takes a run back to a step's end; see ``Store``."""
        with self.writing() as on:
            self.confirm(on, run)
            removed = self.cut(on, run, after_step)
            if parameters is not None:
                new = storable(hide(dict(parameters)), Blobs().add)
                of_run = sa.update(schema.runs).filter_by(id=run)
                on.execute(of_run.values(parameters=new))
        self._seqs.pop(run, None)
        return removed

    def cut(self, on: sa.Connection, run: int, after_step: float) -> list[float]:
        """``truncate``, within a transaction."""
        steps, records = schema.steps, schema.records
        kept = sa.select(sa.func.max(steps.c.seq)).filter_by(run=run)
        seq = on.scalar(kept.where(steps.c.step <= after_step)) or 0
        reopened = sa.update(records).filter_by(run=run)
        reopened = reopened.where(records.c.closed_at > after_step)
        on.execute(reopened.values(dict.fromkeys(CHANGES["closed"])))
        ungraded = sa.update(records).filter_by(run=run)
        ungraded = ungraded.where(records.c.graded_at > after_step)
        on.execute(ungraded.values(dict.fromkeys(CHANGES["graded"])))
        sound = sa.update(records).filter_by(run=run)
        sound = sound.where(records.c.staled_at > after_step)
        on.execute(sound.values(dict.fromkeys(CHANGES["staled"])))
        for table in schema.NUMBERED:
            gone = sa.delete(table).filter_by(run=run)
            late_rows = (table.c.seq > seq) & (table.c.seq <= schema.PROBES)
            probes = (table.c.seq > schema.PROBES) & (table.c.step > after_step)
            on.execute(gone.where(late_rows | probes))
        later = sa.select(steps.c.step).filter_by(run=run)
        later = later.where(steps.c.step > after_step).order_by(steps.c.step)
        removed = list(on.scalars(later))
        for table in (
            steps,
            schema.checkpoints,
            schema.measures,
            schema.responses,
        ):
            gone = sa.delete(table).filter_by(run=run)
            on.execute(gone.where(table.c.step > after_step))
        on.execute(sa.update(schema.runs).filter_by(id=run).values(state="running"))
        return removed

    def checkpoint(
        self, run: int, step: float | None = None
    ) -> tuple[float, dict[str, Any]]:
        """A checkpoint's step and states; see ``Store``."""
        table = schema.checkpoints
        with self.reading() as on:
            self._known(on, run)
            found = self._checkpoints(on, run)
            wanted = found[0] if found and step is None else step
            if wanted is None or wanted not in found:
                asked = "" if step is None else f" of step {step:g}, only of {found}"
                raise StoreError(
                    f"run {run} has no checkpoint{asked}. One is written with the end "
                    "of the newest step; see checkpoint() and checkpoint_every.",
                    location=self.location,
                )
            query = sa.select(table.c.agent, table.c.state)
            query = query.filter_by(run=run, step=wanted).order_by(table.c.agent)
            return wanted, dict(on.execute(query).tuples().all())

    def has_steps(self, run: int) -> bool:
        """True if a step of the run was finished."""
        with self.reading() as on:
            query = sa.select(schema.steps.c.step).filter_by(run=run).limit(1)
            return on.execute(query).first() is not None

    def newest_checkpoint(self, run: int) -> float | None:
        """The step from which the run can be gone on with; None if there is none."""
        with self.reading() as on:
            return next(iter(self._checkpoints(on, run)), None)

    def _checkpoints(self, on: sa.Connection, run: int) -> list[float]:
        """Their steps, newest first."""
        step = schema.checkpoints.c.step
        query = sa.select(step).filter_by(run=run).distinct().order_by(step.desc())
        return list(on.scalars(query))

    def _prune(self, on: sa.Connection, run: int) -> None:
        table = schema.checkpoints
        old = self._checkpoints(on, run)[self.options.keep :]
        if old:
            delete = sa.delete(table).filter_by(run=run).where(table.c.step.in_(old))
            on.execute(delete.where(table.c.kept.is_not(True)))

    def keep(self, run: int, step: float) -> None:
        """Lets a checkpoint stay; see ``Store``."""
        table = schema.checkpoints
        with self.writing() as on:
            self.confirm(on, run)
            stays = sa.update(table).filter_by(run=run, step=step).values(kept=True)
            if not on.execute(stays).rowcount:
                raise StoreError(
                    f"run {run} has no checkpoint of step {step:g}, only of "
                    f"{self._checkpoints(on, run)}",
                    location=self.location,
                )

    def check(self) -> None:
        """Reads everything once; see ``Store``."""
        with self.reading() as on:
            for table in schema.metadata.sorted_tables:
                rows = on.execution_options(yield_per=1000).execute(sa.select(table))
                for _ in rows:
                    pass

    def close(self) -> None:
        """Lets go of the database, and of the runs that were written here."""
        for run in self._leases.held:
            with suppress(StoreError):  # a lease that nobody holds does not last
                self.release(run)
        self._locks.close()
        self.engine.dispose()
