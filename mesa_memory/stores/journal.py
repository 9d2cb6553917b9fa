"""The journal of a SQLite file: a write-ahead log, or else SQLite's rollback journal.

With a write-ahead log, readers read while a writer writes; it needs memory that processes
share. Network file systems do not have it, or the pragma succeeds and the first access
fails (https://sqlite.org/wal.html). A file keeps the journal that it was made with.
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

import mesa_memory.stores.schema as schema
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.stores.base import AUTO, Options
from mesa_memory.stores.faults import fault

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
