"""The errors of SQLite as typed errors."""

import errno
import os
import re
import sqlite3

from sqlalchemy.exc import DBAPIError

from mesa_memory.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_KEPT = "What was written before is kept."
#: SQLite's primary result codes: the error, and what to do
_CODES: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_FULL: (
        StoreFull,
        f"the disk is full. {_KEPT} Make room, or record elsewhere.",
    ),
    sqlite3.SQLITE_BUSY: (
        StoreBusy,
        (
            "another writer held the file for longer than the timeout. Let it end, give "
            "each run a file of its own, or open with a longer timeout=."
        ),
    ),
    sqlite3.SQLITE_READONLY: (
        StoreReadOnly,
        (
            "the file or its folder may not be written. Change the permissions, copy it "
            "elsewhere, or open it with read_only=True."
        ),
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreUnavailable,
        "the file cannot be opened. Check that its folder exists and may be written.",
    ),
    sqlite3.SQLITE_IOERR: (
        StoreUnavailable,
        f"reading or writing the file failed. {_KEPT} Check the disk.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StoreCorrupt,
        (
            "the file is damaged. Restore a backup; `sqlite3 FILE .recover` may save the "
            "rest."
        ),
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreCorrupt,
        "this is not a SQLite file, or its beginning is damaged. Give another path.",
    ),
    sqlite3.SQLITE_TOOBIG: (
        StoreCorrupt,
        (
            "a field is longer than 64 MiB, which no recorded run has. Do not use this "
            "file; if it was being written, record less in one field."
        ),
    ),
}
_CODES[sqlite3.SQLITE_LOCKED] = _CODES[sqlite3.SQLITE_BUSY]
_CODES[sqlite3.SQLITE_PERM] = _CODES[sqlite3.SQLITE_READONLY]
_MOVED = (
    StoreUnavailable,
    f"the file was moved or deleted while in use. {_KEPT} Put it back.",
)


def fault(error: DBAPIError | sqlite3.Error, location: str) -> StoreError:
    """The typed error for one of SQLite."""
    original = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(original, "sqlite_errorcode", None) or 0
    name = getattr(original, "sqlite_errorname", None) or type(original).__name__
    kind, advice = _CODES.get(
        code & 0xFF, (StoreError, "SQLite reports an unexpected error.")
    )
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        kind, advice = _MOVED
    elif re.match("no such (table|column)|Could not decode to UTF-8", str(original)):
        kind, advice = _CODES[sqlite3.SQLITE_CORRUPT]
    elif kind is StoreUnavailable and _no_room(location):
        # The shared index of a write-ahead log cannot say why it did not grow.
        kind, advice = _CODES[sqlite3.SQLITE_FULL]
    return kind(f"{advice} (SQLite: {original}, {name})", location=location)


def _no_room(location: str) -> bool:
    try:
        found = os.statvfs(os.path.dirname(location) or ".")
    except OSError as error:
        return error.errno == errno.ENOSPC
    return found.f_blocks > 0 and found.f_bavail == 0
