"""The lease of a run: the right to write it, which one writer has at a time.

A lock of the database or of the system says that the writer is alive, and is free as soon
as its process has ended. A row in the store names the writer for the errors of others. Its
token also stops a writer whose lock was lost, for example after a server was restarted.
"""

import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from filelock import FileLock, Timeout

from mesa_memory.errors import RunInUse, StoreUnavailable
from mesa_memory.stores.schema import leases, runs


class RunLocks:
    """Locks of runs, held by one store until it is closed or its process ends.

    These are of a store in memory, which no other store can write.
    """

    def acquire(self, run: int) -> bool:
        """Takes the lock of a run without waiting, or checks that it is still held."""
        return True

    def release(self, run: int) -> None:
        """Gives the lock of a run back."""

    def close(self) -> None:
        """Gives all locks back."""


class FileLocks(RunLocks):
    """A lock file beside a SQLite file for each run that is being written."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)
        self._locks: dict[int, FileLock] = {}

    def acquire(self, run: int) -> bool:
        """See ``RunLocks``."""
        if run not in self._locks:
            # The writer's thread uses the lock, too.
            lock = FileLock(f"{self._path}-lock-{run}", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                return False
            except OSError as error:
                raise StoreUnavailable(
                    f"the lock file {lock.lock_file} cannot be made ({error}). Make "
                    "room, or allow files to be written in this folder."
                ) from error
            self._locks[run] = lock
        return True

    def release(self, run: int) -> None:
        """See ``RunLocks``."""
        if lock := self._locks.pop(run, None):
            # Deleted while it is held: who has opened it by then looks for a new one.
            with suppress(OSError):  # Windows deletes no open file
                Path(lock.lock_file).unlink()
            lock.release(force=True)

    def close(self) -> None:
        """See ``RunLocks``."""
        for run in list(self._locks):
            self.release(run)


class Leases:
    """The leases that one store holds."""

    def __init__(self, locks: RunLocks) -> None:
        self._locks = locks
        self._tokens: dict[int, str] = {}

    def confirm(self, on: sa.Connection, run: int) -> None:
        """Takes or confirms the lease of a run, within a transaction that writes it.

        Raises:
            RunInUse: if another writer holds it, or has taken it over.
        """
        if run not in self._tokens:
            self._take(on, run)
            return
        holder = _holder(on, run)
        mine = holder is not None and holder["token"] == self._tokens[run]
        if not (mine and self._locks.acquire(run)):
            self.forget(run)
            raise RunInUse(
                f"the lease of run {run} was taken over: {_described(holder)}. Nothing "
                "more is written here. Let one of the two continue."
            )

    def _take(self, on: sa.Connection, run: int) -> None:
        # Writers that want the same run wait here; SQLite has one writer anyway.
        on.execute(sa.select(runs.c.id).filter_by(id=run).with_for_update())
        if not self._locks.acquire(run):
            holder = _holder(on, run)
            here = holder is not None and _is_here(holder)
            advice = "wait for its end"
            if here:  # for example a program that resumes the run it records
                advice = "end it with close(model)"
            raise RunInUse(
                f"run {run} is being written: {_described(holder)}. A run has one "
                f"writer; {advice}, or continue in a copy of the run with fork().",
                here=here,
            )
        values = {
            "run": run,
            "token": secrets.token_hex(8),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        on.execute(sa.delete(leases).filter_by(run=run))
        on.execute(sa.insert(leases).values(values))
        self._tokens[run] = str(values["token"])

    def has_writer(self, on: sa.Connection, run: int) -> bool:
        """Tells if a living writer, here or elsewhere, holds the lease of a run."""
        if run in self._tokens:
            return True
        on.execute(sa.select(runs.c.id).filter_by(id=run).with_for_update())
        if _holder(on, run) is None:
            return False
        free = self._locks.acquire(run)
        if free:
            self._locks.release(run)
        return not free

    def delete(self, on: sa.Connection, run: int) -> None:
        """Deletes the row of a lease held here; ``forget`` it after the transaction."""
        if token := self._tokens.get(run):
            on.execute(sa.delete(leases).filter_by(run=run, token=token))

    def forget(self, run: int) -> None:
        """Gives up a lease of this store without a change of the database."""
        if self._tokens.pop(run, None):
            self._locks.release(run)

    @property
    def held(self) -> list[int]:
        """The runs whose leases this store holds."""
        return list(self._tokens)


def _holder(on: sa.Connection, run: int) -> Mapping[Any, Any] | None:
    query = sa.select(leases).filter_by(run=run).with_for_update()
    return on.execute(query).mappings().first()


def _is_here(holder: Mapping[Any, Any]) -> bool:
    return (holder["host"], holder["pid"]) == (socket.gethostname(), os.getpid())


def _described(holder: Mapping[Any, Any] | None) -> str:
    if holder is None:
        return "its writer is not known"
    since = f"has written it since {holder['since']} (UTC)"
    return f"process {holder['pid']} on {holder['host']} {since}"
