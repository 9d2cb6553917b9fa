"""Runs in a SQLite file, or in memory."""

import itertools
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace

import sqlalchemy as sa

import mesa_memory.stores.schema as schema
import mesa_memory.stores.sqlite_file as sqlite_file
from mesa_memory.errors import StoreUnavailable
from mesa_memory.stores.base import Options
from mesa_memory.stores.journal import choose_journal
from mesa_memory.stores.leases import FileLocks
from mesa_memory.stores.sql import Store

#: no field may be longer, in bytes; a stranger's file cannot fill the memory
LONGEST_FIELD = 64 * 2**20
#: kept in memory of indexes and tables by each connection that may write, in KiB; full
#: after a few steps, so that a long run does not grow. What falls out of it is read
#: again from the system's own cache, which costs a writer nothing that can be measured
WRITER_CACHE_KIB = 16 * 1024
#: most pages that wait beside the file: each step changes the ends of many lists,
#: and a page that waits is written back once for several steps
WAITING_PAGES = 16 * 1024
_numbers = itertools.count(1)


class SqliteStore(Store):
    """A store in a SQLite file.

    Args:
        address: for ``sqlite3.connect``, a URI.
        path: of the file; None in memory.
        new: whether its tables are missing.
    """

    def __init__(
        self, address: str, location: str, options: Options, path: str | None, new: bool
    ) -> None:
        self._address, self._path, self._new = address, path, new
        self._file: tuple[int, int] | None = None
        engine = sa.create_engine(
            "sqlite://", creator=self._connect, poolclass=sa.QueuePool
        )
        locks = FileLocks(path) if path else None
        super().__init__(engine, location, options, locks)
        sa.event.listen(engine, "begin", _begin)
        # While one connection is open, a database in memory stays.
        self._anchor = None if path else self._connect()

    def _connect(self, alone: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._address,
            timeout=self.options.timeout,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        pragmas = {"locking_mode": "EXCLUSIVE"} if alone else {}
        pragmas |= sqlite_file.SAFE_PRAGMAS
        if not self.options.read_only:
            pragmas |= {
                "synchronous": "NORMAL",
                "wal_autocheckpoint": str(WAITING_PAGES),
                "cache_size": f"-{WRITER_CACHE_KIB}",
            }
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_FIELD)
            for name, value in pragmas.items():
                connection.execute(f"PRAGMA {name}={value}")
        except BaseException:
            connection.close()  # else it would keep its lock
            raise
        return connection

    def prepare(self) -> None:
        """Makes the tables of a new file; checks those of another."""
        if self._new and not self.read_only:
            with self.writing() as on:
                # Another process may have made them before this transaction began.
                if not on.scalar(sa.text("SELECT count(*) FROM sqlite_master")):
                    self.create_tables(on)
                    mark = f"PRAGMA application_id={schema.APPLICATION_ID}"
                    on.execute(sa.text(mark))
        if self._path and not self.read_only:
            # Only now, so that the file itself always says whose it is.
            choose_journal(self._connect, self.location, self.options, self._new)
            self.engine.dispose()  # its connections may expect another journal
        self.check_schema()
        self._file = self._identity() if self._path else None

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path or "")
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def guard(self) -> None:
        """Raises if the file was deleted or replaced since it was opened."""
        if self._file is not None and self._identity() != self._file:
            raise StoreUnavailable(
                "the file was deleted, moved or replaced while the run was recorded. "
                "Nothing more is written. Put it back, or record into a new file.",
                location=self.location,
            )

    def checkpoint_wal(self) -> None:
        """Empties the write-ahead log, if no other process has the file open."""
        if self._path is None:
            return
        self.guard()
        self.engine.dispose()
        # If it fails the log stays, and nothing is missing in it.
        with suppress(sqlite3.Error), closing(self._connect()) as connection:
            connection.execute("PRAGMA busy_timeout=0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Closes the file; a reader leaves no empty log beside it."""
        super().close()
        if self._path and self.read_only:
            sqlite_file.remove_empty_log(self._path)
        if self._anchor is not None:
            self._anchor.close()


def _begin(connection: sa.Connection) -> None:
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def open_sqlite(path: str, options: Options) -> SqliteStore:
    """Opens a SQLite file; see ``mesa_memory.stores.open_store``."""
    if path == ":memory:":
        address, file = f"file:/mesa-memory-{next(_numbers)}?vfs=memdb", None
        new = True
        options = replace(options, read_only=False)
    else:
        path = file = os.path.abspath(os.path.expanduser(path))
        new = sqlite_file.inspect(path, options)
        how = "rwc" if new else "rw"
        mode = sqlite_file.mode(path, options) if options.read_only else how
        address = sqlite_file.address(path, mode)
    return SqliteStore(address, path, options, file, new)
