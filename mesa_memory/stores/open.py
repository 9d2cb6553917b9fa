"""Opens a store by its location: a path, or the address of a database."""

import os
import re
from pathlib import Path

from mesa_memory.core.validate import one_of
from mesa_memory.stores.base import AUTO, JOURNALS, Options
from mesa_memory.stores.postgres import open_postgres
from mesa_memory.stores.sql import Store
from mesa_memory.stores.sqlite import open_sqlite

#: beginning of a PostgreSQL address; a file may be called "postgres.sqlite"
_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?:")


def open_store(
    location: str | Path,
    read_only: bool = False,
    *,
    timeout: float = 30.0,
    journal: str = AUTO,
) -> Store:
    """Opens a store, or makes a new one.

    Args:
        location: path of a SQLite file, ``"sqlite:///path"``, ``":memory:"``, or
            ``"postgresql+psycopg://user@host/database"``.
        read_only: write nothing.
        timeout: seconds to wait for another writer before ``StoreBusy``.
        journal: of a SQLite file. ``"auto"`` gives a new file a write-ahead log where
            SQLite has shared memory, else a rollback journal; a file keeps its own.
            ``"rollback"`` does without shared memory, as network file systems need it.

    Raises:
        StoreError: if the store cannot be used; the message says what to do.
        MissingExtra: if PostgreSQL's packages are not installed.
        ValueError: for an address of another kind of database, or another journal.
    """
    options = Options(read_only, timeout, one_of("journal", JOURNALS, journal))
    address = str(location)
    if is_postgres(address):
        store: Store = open_postgres(address, options)
    else:
        store = open_sqlite(sqlite_path(address), options)
    try:
        store.prepare()
    except BaseException:
        store.close()
        raise
    return store


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
    exactly this name comes first.
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
