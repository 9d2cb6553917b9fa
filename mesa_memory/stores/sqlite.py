"""Runs in a SQLite file, or in memory.

A file may come from a stranger. It is opened for reading first, so that a file of
another application stays as it is, byte by byte.

With a write-ahead log, readers read while a writer writes; it needs memory that processes
share. Network file systems do not have it, or the pragma succeeds and the first access
fails (https://sqlite.org/wal.html). A file keeps the journal that it was made with.
"""

import itertools
import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from urllib.parse import quote

import sqlalchemy as sa

import mesa_memory.stores.schema as schema
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreUnavailable
from mesa_memory.stores.base import AUTO, Options
from mesa_memory.stores.faults import fault
from mesa_memory.stores.leases import FileLocks
from mesa_memory.stores.sql import Store

#: for every connection: no functions out of the schema, and a look at each page
SAFE_PRAGMAS = {"trusted_schema": "OFF", "cell_size_check": "ON", "foreign_keys": "OFF"}
#: bytes; SQLite takes a shorter file for an empty database
MIN_FILE_BYTES = 512
#: tables and indexes whose values are not computed when they are read or written, and
#: are of their columns' types
_PLAIN_TABLE = re.compile(
    r"CREATE TABLE (?!.*\b(CHECK|DEFAULT|GENERATED|AS)\b).*\)\s*STRICT\s*",
    re.IGNORECASE | re.DOTALL,
)
#: the table that SQLite itself makes, with the last numbers of runs and studies
_OF_SQLITE = "CREATE TABLE sqlite_sequence(name,seq)"
_PLAIN_INDEX = re.compile(r'CREATE (UNIQUE )?INDEX \S+ ON \S+ \([\w", ]*\)')


def _uri(path: str, mode: str) -> str:
    """The URI with which SQLite opens a path."""
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def inspect(path: str, options: Options) -> bool:
    """True if ``path`` does not have a store yet; else the file may be used.

    Raises:
        StoreError: if it must not be used; the file was not changed.
    """
    if os.path.isdir(path):
        raise StoreUnavailable(
            "this is a folder. Give the path of a file in it.", location=path
        )
    missing = not _has_bytes(path)
    if missing and options.read_only:
        there = os.path.exists(path)
        made = "the file does not exist; a recorded run, or a study's run(), makes it."
        raise StoreUnavailable(
            "it does not contain a recorded run." if there else made, location=path
        )
    for place in () if options.read_only else (os.path.dirname(path), path):
        if os.path.exists(place) and not os.access(place, os.W_OK):
            raise StoreReadOnly(
                f"{place} may not be written. Change the permissions, give another "
                "path, or open it with read_only=True.",
                location=path,
            )
    return missing or _is_empty(path, options)


def _is_empty(path: str, options: Options) -> bool:
    """True for a file without tables; raises if it is not a safe one of ours."""
    if os.path.getsize(path) < MIN_FILE_BYTES:
        raise StoreCorrupt(
            "this is not a SQLite file. Give another path; it was not changed.",
            location=path,
        )
    try:
        mark, objects = _contents(path, options)
    except sqlite3.Error as error:
        raise fault(error, path) from error
    except UnicodeDecodeError as error:  # in the text of SQLite's own error
        raise StoreCorrupt(
            "its tables have names that are not valid UTF-8. Restore a backup.",
            location=path,
        ) from error
    if not mark and not objects and not options.read_only:
        return True
    if mark != schema.APPLICATION_ID:
        raise StoreError(
            f"this file is of another application (its id is {mark:#x}, that of a "
            f"recorded run {schema.APPLICATION_ID:#x}). Give another path; it was not "
            "changed.",
            location=path,
        )
    plain = {"table": _PLAIN_TABLE, "index": _PLAIN_INDEX}
    for kind, name, sql in objects:
        if sql == _OF_SQLITE:
            continue
        if sql and not (kind in plain and plain[kind].fullmatch(sql)):
            raise StoreCorrupt(
                f"it has the {kind} {name!r} in a form that no recorded run has, and "
                "which may run code, hold values of any type or take any time to read. "
                "Do not use this file; it was not changed.",
                location=path,
            )
    return False


def _contents(
    path: str, options: Options
) -> tuple[int, list[tuple[str, str, str | None]]]:
    """The application's mark, and (type, name, SQL) of all that the file defines."""
    try:
        return _look(_uri(path, _opening_mode(path, options)), options.timeout)
    except sqlite3.Error as error:
        if options.read_only or not is_unusable(error):
            raise
    # There is no shared memory, and the file says whose it is without its log.
    return _look(_uri(path, "ro&immutable=1"), options.timeout)


def _look(uri: str, wait: float) -> tuple[int, list[tuple[str, str, str | None]]]:
    with closing(sqlite3.connect(uri, timeout=wait, uri=True)) as connection:
        # Even a name in the file may be damaged.
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        for name, value in SAFE_PRAGMAS.items():
            connection.execute(f"PRAGMA {name}={value}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**20)
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        query = "SELECT type, name, sql FROM sqlite_master"
        return mark, connection.execute(query).fetchall()


def _opening_mode(path: str, options: Options) -> str:
    """The mode with which to open an existing file for reading."""
    if _has_bytes(path + "-journal") and os.access(path, os.W_OK):
        return "rw"  # its last writer was killed; a reader must roll that back, too
    # A write-ahead log needs files beside it, even to read; without one, and where
    # nobody can write, the file cannot change either.
    locked = not os.access(os.path.dirname(path), os.W_OK)
    if options.read_only and locked and not _has_bytes(path + "-wal"):
        return "ro&immutable=1"
    return "ro"


def remove_empty_log(path: str) -> None:
    """Removes an empty write-ahead log and its index, unless another process has them.

    A connection that may not write makes them, and cannot remove them as it closes.
    """
    log = path + "-wal"
    if os.path.exists(log) and not _has_bytes(log) and os.access(path, os.W_OK):
        # The last connection that may write removes them; in doubt, they stay.
        uri = _uri(path, "rw")
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, 0, uri=True)) as on:
            on.execute("PRAGMA schema_version").fetchone()


def _has_bytes(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0


logger = logger_of(__name__)

Connect = Callable[[bool], sqlite3.Connection]
#: what SQLite answers where shared memory, its locks or the log do not work
_UNUSABLE = {sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
#: seconds between two tries while another process has the file open
_RETRY_INTERVAL_S = 0.01


def is_unusable(error: sqlite3.Error) -> bool:
    """Tells if a write-ahead log cannot be used where the file is."""
    return error.sqlite_errorcode & 0xFF in _UNUSABLE


def choose_journal(
    connect: Connect, location: str, options: Options, new: bool
) -> None:
    """Sets the journal of a file, and writes to the file once to see that it works.

    Args:
        connect: makes a connection; with True, one that does not share the file.
        location: of the file, for errors and the log.
        options: of the store.
        new: whether the file may get a write-ahead log.

    Raises:
        StoreError: if no journal works, or another process has the file open.
    """
    deadline = time.monotonic() + options.timeout
    while True:
        try:
            fell_back = _settle(connect, options.journal, new)
            break
        except sqlite3.Error as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise fault(error, location) from error
        time.sleep(_RETRY_INTERVAL_S)
    if fell_back:
        logger.warning(
            "%s gets a rollback journal, because SQLite lacks shared memory there. "
            "Readers wait while a step is written.",
            location,
        )


def _settle(connect: Connect, wanted: str, new: bool) -> bool:
    """True if the file has a rollback journal for want of shared memory."""
    if wanted == AUTO:
        try:
            log = "PRAGMA journal_mode=WAL" if new else "PRAGMA journal_mode"
            return _write(connect(False), log) != "wal" and new
        except sqlite3.Error as error:
            if not is_unusable(error):
                raise
    # A process that has the file alone can leave the log without shared memory.
    _write(connect(True), "PRAGMA journal_mode=DELETE")
    return wanted == AUTO


def _write(connection: sqlite3.Connection, pragma: str) -> str:
    """Sets or reads the journal mode, and writes what is there already; the mode."""
    with closing(connection) as on:
        (mode,) = on.execute(pragma).fetchone()
        on.execute("BEGIN IMMEDIATE")
        on.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
        on.execute("COMMIT")
    return mode


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
        pragmas |= SAFE_PRAGMAS
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
            remove_empty_log(self._path)
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
        new = inspect(path, options)
        how = "rwc" if new else "rw"
        mode = _opening_mode(path, options) if options.read_only else how
        address = _uri(path, mode)
    return SqliteStore(address, path, options, file, new)
