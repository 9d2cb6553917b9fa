"""Checks a SQLite file before it is used: is it ours, whole, and without code?

A file may come from a stranger. It is opened for reading first, so that a file of
another application stays as it is, byte by byte.
"""

import os
import re
import sqlite3
from contextlib import closing, suppress
from urllib.parse import quote

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreUnavailable
from mesa_memory.stores.base import Options
from mesa_memory.stores.faults import fault
from mesa_memory.stores.journal import is_unusable

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


def address(path: str, mode: str) -> str:
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
        return _look(address(path, mode(path, options)), options.timeout)
    except sqlite3.Error as error:
        if options.read_only or not is_unusable(error):
            raise
    # There is no shared memory, and the file says whose it is without its log.
    return _look(address(path, "ro&immutable=1"), options.timeout)


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


def mode(path: str, options: Options) -> str:
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
        uri = address(path, "rw")
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, 0, uri=True)) as on:
            on.execute("PRAGMA schema_version").fetchone()


def _has_bytes(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0
