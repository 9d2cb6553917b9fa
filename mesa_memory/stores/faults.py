"""The errors of SQLite and PostgreSQL as typed errors."""

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

_KEPT_ADVICE = "What was written before is kept."
_DAMAGED_TEXT = re.compile("no such (table|column)|Could not decode to UTF-8")
_DISK_FULL = (
    StoreFull,
    f"the disk is full. {_KEPT_ADVICE} Make room, or record elsewhere.",
)
_FILE_DAMAGED = (
    StoreCorrupt,
    "the file is damaged. Restore a backup; `sqlite3 FILE .recover` may save the rest.",
)
#: beginnings of SQLite's error names and of PostgreSQL's SQLSTATE codes (appendix A), and
#: of psycopg's classes for errors without a code; the longer ones first
_FAULTS: dict[tuple[str, ...], tuple[type[StoreError], str]] = {
    ("SQLITE_FULL", "53100"): _DISK_FULL,
    ("SQLITE_READONLY_DBMOVED",): (
        StoreUnavailable,
        f"the file was moved or deleted while in use. {_KEPT_ADVICE} Put it back.",
    ),
    ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03", "57014"): (
        StoreBusy,
        (
            "another writer held the store for longer than the timeout. Let it end, give "
            "each run a store of its own, or open with a longer timeout=."
        ),
    ),
    ("40",): (StoreBusy, "another writer changed the same rows. Write it again."),
    ("SQLITE_READONLY", "SQLITE_PERM", "25006", "42501"): (
        StoreReadOnly,
        (
            "the store may not be written. Change the permissions of the file and its "
            "folder or of the user, copy it elsewhere, or open it with read_only=True."
        ),
    ),
    ("SQLITE_CANTOPEN",): (
        StoreUnavailable,
        (
            "the file cannot be opened. Check that its folder exists, and the "
            "permissions. A file with a write-ahead log that was moved to a network "
            "file system is read on a local disk; copy it."
        ),
    ),
    ("SQLITE_IOERR", "SQLITE_PROTOCOL"): (
        StoreUnavailable,
        (
            f"reading, writing or locking the file failed. {_KEPT_ADVICE} Check the disk. "
            "If a network file system does not lock files, write to a local disk, one "
            "file for each job, and gather them (docs/cluster.md)."
        ),
    ),
    ("SQLITE_CORRUPT", "XX"): _FILE_DAMAGED,
    ("SQLITE_NOTADB",): (
        StoreCorrupt,
        "this is not a SQLite file, or its beginning is damaged. Give another path.",
    ),
    ("SQLITE_TOOBIG",): (
        StoreCorrupt,
        (
            "a field is longer than 64 MiB, which no recorded run has. Do not use this "
            "file; if it was being written, record less in one field."
        ),
    ),
    (
        *("53", "28", "3D000", "08", "57P"),
        *("OperationalError", "InterfaceError", "ConnectionTimeout"),
    ): (
        StoreUnavailable,
        (
            f"the server cannot be used. {_KEPT_ADVICE} Start it, and check host, port, "
            "user and database; createdb makes one."
        ),
    ),
    ("",): (StoreError, f"the database reports an unexpected error. {_KEPT_ADVICE}"),
}


def fault(error: DBAPIError | sqlite3.Error, location: str) -> StoreError:
    """The typed error for one of a database."""
    original = error.orig if isinstance(error, DBAPIError) else error
    said = " ".join(str(original).split())
    codes = (getattr(original, name, None) for name in ("sqlstate", "sqlite_errorname"))
    code = next(filter(None, codes), type(original).__name__)
    kind, advice = next(
        found for begins, found in _FAULTS.items() if code.startswith(begins)
    )
    if _DAMAGED_TEXT.match(said):
        kind, advice = _FILE_DAMAGED
    elif kind is StoreBusy and os.path.isdir(f"{location}.lock"):
        advice = f"{advice} If it was killed, delete the folder {location}.lock."
    elif kind is StoreUnavailable and _no_room(location):
        # The shared index of a write-ahead log cannot say why it did not grow.
        kind, advice = _DISK_FULL
    return kind(f"{advice} ({said}, {code})", location=location)


def _no_room(location: str) -> bool:
    try:
        found = os.statvfs(os.path.dirname(location) or ".")
    except OSError as error:
        return error.errno == errno.ENOSPC
    return found.f_blocks > 0 and found.f_bavail == 0
