"""What a store of recorded runs takes and gives: plain data, whatever the database."""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.errors import StoreUnavailable

#: beginning of a PostgreSQL address; a file may be called "postgres.sqlite"
_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?:")


@dataclass
class RunInfo:
    """What is known of a run before its first step.

    Attributes:
        model: name of the model's class.
        parameters: what it was made with, as plain data.
        seed: as text.
        versions: of the packages that matter.
        name: the user's own name for the run.
        started: ISO time; None is now, in UTC. No other column holds a clock's time.
        parent, parent_step: the run this one was forked from, and after which step.
    """

    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    started: str | None = None
    parent: int | None = None
    parent_step: float | None = None


@dataclass
class Batch:
    """The changes of one step, each list in the order in which they happened.

    A row is a dict with the columns of its table (``schema``) except ``run`` and
    ``seq``; a column left out is NULL. The store sets ``seq`` in the rows it numbers,
    and changes nothing else.

    Attributes:
        step: the model's clock.
        opened: rows of ``records``; ``embedding`` is bytes of little-endian float16;
            without a ``text``, it is made from kind and content.
        graded: (record id, importance, step at which it was known).
        closed: (record id, valid_to, closed_because, superseded_by or None).
        embedded: (record id, float16 bytes, name of the embedder).
        staled: (record id, stale_since).
        recalls, prompts, calls, interventions, answers, scenes: rows of these tables.
        probes: further rows of ``calls``, numbered apart; see ``schema.PROBES``.
        agents, vectors, measures, responses: rows of these tables; one that is there
            already is replaced.
        unfinished: rows of ``unfinished_calls``: they stay until a later batch of the
            list has ended their step.
        checkpoint: state by agent, ``""`` for the model; None for no checkpoint.
        kept: the checkpoint stays when there are newer ones.
        finished: False leaves the step without a row in ``steps``: events between
            two steps.
        extends: what is between two steps belongs to the end of the first, as the
            checkpoint says, and stays when the run is taken back to it.
    """

    step: float
    opened: list[dict[str, Any]] = field(default_factory=list)
    graded: list[tuple[str, float | None, float]] = field(default_factory=list)
    closed: list[tuple[str, float, str | None, str | None]] = field(
        default_factory=list
    )
    embedded: list[tuple[str, bytes, str]] = field(default_factory=list)
    staled: list[tuple[str, float]] = field(default_factory=list)
    recalls: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)
    interventions: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    scenes: list[dict[str, Any]] = field(default_factory=list)
    agents: list[dict[str, Any]] = field(default_factory=list)
    vectors: list[dict[str, Any]] = field(default_factory=list)
    measures: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    unfinished: list[dict[str, Any]] = field(default_factory=list)
    checkpoint: dict[str, Any] | None = None
    kept: bool = False
    finished: bool = True
    extends: bool = False


class Store(Protocol):
    """Keeps runs. Every method may be called from any thread.

    Each raises a ``StoreError``, and then nothing of that call was written. What writes
    a run holds its lease from then on: ``RunInUse`` says that another writer has it.

    Attributes:
        location: its path or address, without password.
        read_only: True if it only gives.
    """

    location: str
    read_only: bool

    def begin(self, info: RunInfo) -> int:
        """Adds a run, with the state ``"running"``; its id."""

    def write(self, run: int, *batches: Batch) -> None:
        """Writes batches in one transaction: all of them, or nothing.

        Raises:
            StoreError: also if a step is there already, or a record to change is not.
        """

    def hold(self, run: int) -> None:
        """Takes the lease of a run, or confirms it: nobody else may write it."""

    def release(self, run: int) -> None:
        """Gives the lease back, if this store has it; others may write the run."""

    def end(self, run: int, state: str) -> None:
        """Sets the state, ``"finished"``, ``"stopped"`` or ``"failed"``.

        The lease is given back, and nothing of the run waits in other files.
        """

    def truncate(
        self,
        run: int,
        after_step: float,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[float]:
        """Takes the run back to the end of its last finished step <= ``after_step``.

        What was written later is removed, lifetimes closed later are open again, and
        the state is ``"running"``. Answers of steps not finished yet stay.

        Args:
            parameters: what the run's model is made with from now on, as plain data;
                None changes nothing.

        Returns:
            The finished steps that were removed, in order.
        """

    def checkpoint(
        self, run: int, step: float | None = None
    ) -> tuple[float, dict[str, Any]]:
        """A checkpoint's step and its states by agent; the newest without ``step``."""

    def keep(self, run: int, step: float) -> None:
        """Lets the checkpoint of a step stay when there are newer ones."""

    def reading(self) -> AbstractContextManager[Any]:
        """A SQLAlchemy connection to read with; its faults become ``StoreError``."""

    def check(self) -> None:
        """Reads everything once; raises ``StoreCorrupt`` for damage that shows."""

    def close(self) -> None:
        """Lets go of the database; the store cannot be used afterwards."""


@dataclass(frozen=True)
class Options:
    """How a store is used.

    Attributes:
        read_only: nothing is written.
        keep: how many of the newest checkpoints of a run stay, besides those to be kept.
        timeout: seconds to wait for another writer.
    """

    read_only: bool = False
    keep: int = 2
    timeout: float = 30.0

    def __post_init__(self) -> None:
        checked_int("keep", self.keep)
        checked_number("timeout", self.timeout)


def open_store(
    location: str | Path,
    read_only: bool = False,
    *,
    keep: int = 2,
    timeout: float = 30.0,
) -> Store:
    """Opens a store, or makes one where nothing is yet.

    Args:
        location: path of a SQLite file, ``"sqlite:///path"``, ``":memory:"``,
            ``"postgresql+psycopg://user@host/database"``, or ``"postgresql:embedded"``
            (``"postgresql:embedded?folder=path"``), which runs its own server.
        read_only: write nothing.
        keep: how many of the newest checkpoints of a run stay, besides those to be kept.
        timeout: seconds to wait for another writer before ``StoreBusy``.

    Raises:
        StoreError: says what is wrong with it, and what to do.
        MissingExtra: if PostgreSQL's packages are not installed.
        ValueError: for an address of another kind of database.
    """
    options = Options(read_only, keep, timeout)
    address = str(location)
    if is_postgres(address):
        from mesa_memory.stores.postgres import open_postgres

        return open_postgres(address, options)
    from mesa_memory.stores.sqlite import open_sqlite

    return open_sqlite(sqlite_path(address), options)


def is_postgres(location: str) -> bool:
    """True for the address of a PostgreSQL database."""
    return _POSTGRES.match(location) is not None


def is_path(location: str) -> bool:
    """True for the path of a SQLite file, False for an address."""
    return "://" not in location and not is_postgres(location)


def split_run(location: str) -> tuple[str, str | None]:
    """The store in ``"run.sqlite#3"``, and the run's number or name after the ``#``.

    A ``#`` also stands in names of folders and files, and in passwords. It marks a run
    if an existing file precedes it, or else if only a number follows. A file with
    exactly the given name comes first.
    """
    parts = location.split("#")
    for count in range(len(parts), 0, -1):
        store, run = "#".join(parts[:count]), "#".join(parts[count:])
        if _is_file(store):
            return store, run or None
    store, _, run = location.rpartition("#")
    return (store, run) if store and run.isdecimal() else (location, None)


def _is_file(location: str) -> bool:
    if is_postgres(location):
        return False
    try:
        return os.path.exists(os.path.expanduser(sqlite_path(location)))
    except ValueError:  # empty, or the address of another kind of database
        return False


def sqlite_path(address: str) -> str:
    """The path in an address; ``":memory:"`` stays.

    Raises:
        ValueError: for an empty one, or another kind of database.
    """
    path = address
    if "://" in address:
        scheme, _, path = address.partition("://")
        if scheme not in ("sqlite", "sqlite+pysqlite"):
            raise ValueError(
                f"no store can be kept in {scheme!r}: give the path of a SQLite file, "
                "':memory:' or 'postgresql+psycopg://…'"
            )
        path = path.removeprefix("/") or ":memory:"
    if not path or "\0" in path:
        raise ValueError(f"a path must have characters, and no NUL, got {address!r}")
    return path


def other_run(location: str, runs: Iterable[int], given: Any) -> ValueError:
    """The error for a run that a store does not have."""
    return ValueError(f"{location} has the runs {sorted(runs)}, not {given}")


def no_run(location: str) -> StoreUnavailable:
    """The error for a store in which no run was begun, as far as one can see."""
    said = "there is no recorded run in it."
    if "://" not in location:
        said += (
            " If it is a copy of a file that was being written, what was in the "
            f"{location}-wal of the original is missing: copy it again with "
            "mesa-memory copy ORIGINAL TARGET."
        )
    return StoreUnavailable(said, location=location)
