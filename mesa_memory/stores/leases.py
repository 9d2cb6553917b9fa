"""The lease of a run: the right to write it, which one writer has at a time.

A lease lasts until it is given back, or until its holder is dead: its process has ended,
its machine was started anew, or, on another machine, it has not shown itself for
``SILENT`` seconds. Each transaction of the holder confirms it, so that a writer whose
lease was taken over writes nothing more.
"""

import os
import secrets
import socket
import threading
import weakref
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from mesa_memory.errors import RunInUse
from mesa_memory.stores.schema import leases, runs

#: seconds without a sign of life after which a writer elsewhere counts as dead
SILENT = 60.0
#: seconds between two signs of life of a writer that has nothing to write
BEAT = 15.0


@dataclass(frozen=True)
class Process:
    """Which process of which machine this is.

    Attributes:
        host: name of the machine.
        machine: changes when it is started anew, and from container to container.
        pid: number of the process; a later process may get the same one.
        born: when it was started, in a unit of the system's own; tells those apart.
    """

    host: str
    machine: str
    pid: int
    born: str

    @property
    def alive(self) -> bool | None:
        """True while it runs on this machine; None if the system does not say."""
        if Path("/proc/self/stat").exists():
            return _born(self.pid) == self.born
        if os.name == "nt":
            return None  # to ask would end it
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:  # of another user
            return True
        return True


class Leases:
    """The leases that one store holds; they are lost with it."""

    def __init__(self) -> None:
        self._tokens: dict[int, str] = {}
        weakref.finalize(self, _forget, self._tokens)

    def confirm(self, on: sa.Connection, run: int, file: str, now: float) -> None:
        """Holds the lease of a run from here on, within a transaction that writes it.

        Args:
            file: tells a copy of a file from the original.
            now: seconds since 1970, by the database's clock.

        Raises:
            RunInUse: if another writer holds it, or has taken it over.
        """
        token = self._tokens.get(run)
        if token is None:
            self._take(on, run, file, now)
            return
        mine = sa.update(leases).filter_by(run=run, token=token)
        if not on.execute(mine.values(beat=now)).rowcount:
            _forget({run: self._tokens.pop(run)})
            raise RunInUse(
                f"the lease of run {run} was taken over: {_holder(on, run)}. Nothing "
                "more is written here. Let one of the two go on alone."
            )

    def _take(self, on: sa.Connection, run: int, file: str, now: float) -> None:
        # Whoever wants the same run waits here; SQLite has one writer anyway.
        on.execute(sa.select(runs.c.id).filter_by(id=run).with_for_update())
        found = on.execute(sa.select(leases).filter_by(run=run)).mappings().first()
        if found is not None and not _stale(found, file, now):
            here = found["token"] in _living
            advice = "let it end"
            if here:  # a program that records a model and goes on with it, too
                advice = "end it with Services.of(model).recorder.close()"
            raise RunInUse(
                f"run {run} is being written: {_holder(on, run)}. A run has one writer; "
                f"{advice}, or go on in a run of its own with fork().",
                here=here,
            )
        token = secrets.token_hex(8)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        values = asdict(this_process()) | {"token": token, "file": file}
        on.execute(sa.delete(leases).filter_by(run=run))
        values |= {"run": run, "since": since, "beat": now}
        on.execute(sa.insert(leases).values(values))
        with _lock:
            _living.add(token)
        self._tokens[run] = token

    def held_by_any(self, on: sa.Connection, run: int, file: str, now: float) -> bool:
        """True if somebody, here or elsewhere, holds the lease and lives."""
        found = on.execute(sa.select(leases).filter_by(run=run)).mappings().first()
        return found is not None and not _stale(found, file, now)

    def release(self, on: sa.Connection, run: int) -> None:
        """Gives a lease back, within a transaction."""
        if token := self._tokens.get(run):
            on.execute(sa.delete(leases).filter_by(run=run, token=token))

    def forget(self, run: int) -> None:
        """This process does not write the run any more, whatever the database says."""
        token = self._tokens.pop(run, None)
        if token is not None:
            _forget({run: token})

    @property
    def held(self) -> list[int]:
        """The runs that are written here."""
        return list(self._tokens)


#: the leases of this process
_living: set[str] = set()
_lock = threading.Lock()


def _forget(tokens: dict[int, str]) -> None:
    with _lock:
        _living.difference_update(tokens.values())


def this_process() -> Process:
    """The process that asks."""
    pid = os.getpid()
    return Process(socket.gethostname(), _machine(), pid, _born(pid) or "")


@cache
def _machine() -> str:
    """What is the same as long as process numbers mean the same."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # no Linux
        return ""


def _born(pid: int) -> str | None:
    """When a process was started, where the system says it; None if it is not there."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = said.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]  # what was killed is no writer


def _stale(row: Any, file: str, now: float) -> bool:
    """True if the holder of a lease cannot write any more."""
    here = this_process()
    holder = Process(row["host"], row["machine"], row["pid"], row["born"])
    if holder == here and row["file"] == file:
        return row["token"] not in _living
    alive = None
    if holder.host == here.host:
        if row["file"] != file:
            return True  # it writes the file of which this one is a copy
        if holder.machine.split()[:1] != here.machine.split()[:1]:
            return True  # the machine was started anew
        if holder.machine == here.machine:  # and not another container of it
            alive = holder.alive
    return now - row["beat"] > SILENT if alive is None else not alive


def _holder(on: sa.Connection, run: int) -> str:
    row = on.execute(sa.select(leases).filter_by(run=run)).mappings().first()
    if row is None:
        return "nobody holds it now"
    return f"process {row['pid']} on {row['host']} has written it since {row['since']} (UTC)"
