"""Checks a SQLite file before it is used: is it ours, whole, and without code?

A file may come from a stranger. It is opened for reading first, so that a file of
another application stays as it is, byte by byte.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from urllib.parse import quote

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreUnavailable
from mesa_memory.stores.base import Options
from mesa_memory.stores.sqlite_faults import fault

#: for every connection: no functions out of the schema, and a look at each page
CAREFUL = {"trusted_schema": "OFF", "cell_size_check": "ON", "foreign_keys": "OFF"}
#: bytes; no database of SQLite has less than a page
SMALLEST = 512
#: bytes of a foreign file that are told
TOLD = 16
#: in place of a column's number
_EXPRESSION = -2
#: JSON operators came with it
_OLDEST = (3, 38)


def address(path: str, mode: str) -> str:
    """The URI with which SQLite opens a path."""
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def inspect(path: str, options: Options) -> bool:
    """True if ``path`` does not have a store yet; else the file may be used.

    Raises:
        StoreError: if it must not be used; the file was not changed.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old, 3.38 is needed. Use another "
            "build of Python.",
            location=path,
        )
    missing = _missing(path, options)
    if not options.read_only:
        _must_be_writable(path, missing)
    if missing:
        return True
    _must_be_readable(path)
    if os.path.getsize(path) < SMALLEST:  # SQLite would take it for an empty one
        raise _no_database(path)
    return _look(path, options)


def _no_database(path: str) -> StoreError:
    """The error for a file that SQLite does not take for one of its own.

    Only such a file is opened here without SQLite: to close it takes away all locks
    that other connections of this process have on it (POSIX), and what another process
    writes then may damage it.
    """
    begin = _begin(path)
    return StoreCorrupt(
        f"this is not a SQLite file: it begins with {begin!r}. Give another path; "
        "it was not changed.",
        location=path,
    )


def _must_be_readable(path: str) -> None:
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise StoreUnavailable(
            "the file cannot be read. Check its permissions.", location=path
        )


def _begin(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(TOLD)
    except OSError as error:
        raise StoreUnavailable(
            f"the file cannot be read: {error}. Check its permissions.", location=path
        ) from error


def _missing(path: str, options: Options) -> bool:
    """True if the file is not there or empty, and may be made."""
    if os.path.isdir(path):
        raise StoreUnavailable(
            "this is a folder. Give the path of a file in it.", location=path
        )
    if os.path.exists(path) and os.path.getsize(path):
        return False
    if options.read_only:
        raise StoreUnavailable("it has no recorded run.", location=path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise StoreUnavailable(
            f"the folder {folder} does not exist. Make it first, or give another path.",
            location=path,
        )
    return True


def _must_be_writable(path: str, missing: bool) -> None:
    folder = os.path.dirname(path)
    for place in [folder] if missing else [folder, path]:
        if not os.access(place, os.W_OK):
            raise StoreReadOnly(
                f"{place} may not be written. Change the permissions, give another "
                "path, or open it with read_only=True.",
                location=path,
            )


def _look(path: str, options: Options) -> bool:
    """True for a file without tables; raises if it is not a safe one of ours."""
    connection = None
    try:
        connection = sqlite3.connect(
            address(path, mode(path, options)), timeout=options.timeout, uri=True
        )
        for name, value in CAREFUL.items():
            connection.execute(f"PRAGMA {name}={value}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**20)
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        query = "SELECT type, name, sql FROM sqlite_master"
        objects = connection.execute(query).fetchall()
        computed = list(_computed(connection, objects))
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None) or 0
        if code & 0xFF == sqlite3.SQLITE_NOTADB:
            raise _no_database(path) from error
        raise fault(error, path) from error
    except UnicodeDecodeError as error:
        raise StoreCorrupt(
            f"it holds names that are not valid UTF-8 ({error}). Restore a backup.",
            location=path,
        ) from error
    finally:
        if connection is not None:
            connection.close()
    if not mark and not objects and not options.read_only:
        return True
    if mark != schema.APPLICATION_ID:
        raise StoreError(
            f"this file is of another application (its id is {mark:#x}, that of a "
            f"recorded run {schema.APPLICATION_ID:#x}). Give another path; it was not "
            "changed.",
            location=path,
        )
    _refuse_code(path, objects)
    if computed:
        raise StoreCorrupt(
            f"it has {computed[0]}, which no recorded run has: its values would be "
            "computed at each reading, which may take any time. Do not use this file; it "
            "was not changed.",
            location=path,
        )
    return False


def _computed(
    connection: sqlite3.Connection, objects: list[tuple[str, str, str | None]]
) -> Iterator[str]:
    """The parts of a file's tables that are computed when they are read."""
    for kind, name, sql in objects:
        quoted = '"' + name.replace('"', '""') + '"'
        if kind == "table":
            if re.search(r"\bCHECK\s*\(", sql or "", re.IGNORECASE):
                yield f"a CHECK in the table {name!r}"
            for column in connection.execute(f"PRAGMA table_xinfo({quoted})"):
                _, own, _, _, default, _, hidden = column
                if hidden:
                    yield f"the generated column {name}.{own}"
                if default is not None:
                    yield f"a default in the column {name}.{own}"
        elif kind == "index":
            places = connection.execute(f"PRAGMA index_xinfo({quoted})").fetchall()
            partial = re.search(r"\bWHERE\b", sql or "", re.IGNORECASE)
            if partial or any(place[1] == _EXPRESSION for place in places):
                yield f"the index {name!r} of something worked out"


def _refuse_code(path: str, objects: list[tuple[str, str, str | None]]) -> None:
    """Raises if reading or writing the tables would run what a stranger wrote."""
    ours = {schema.view("sqlite")}
    for kind, name, sql in objects:
        text = " ".join((sql or "").split()).upper()
        foreign = kind == "trigger" or (kind == "view" and sql not in ours)
        if foreign or text.startswith("CREATE VIRTUAL"):
            raise StoreCorrupt(
                f"it has the {kind} {name!r}, which no recorded run has, and which may "
                "run code. Do not use this file; it was not changed.",
                location=path,
            )


def mode(path: str, options: Options) -> str:
    """The mode with which to open an existing file for reading.

    Raises:
        StoreError: if it cannot be read.
    """
    if not options.read_only and _journal(path + "-journal"):
        return "rw"  # its last writer was killed; only a writer can roll that back
    # A write-ahead log needs files beside it, even to read; without one, and where
    # nobody can write, the file cannot change either.
    locked = not os.access(os.path.dirname(path), os.W_OK) or _immutable(path)
    if options.read_only and locked and not _journal(path + "-wal"):
        return "ro&immutable=1"
    return "ro"


def _journal(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0


def _immutable(path: str) -> bool:
    """True if no file can be made beside it, in spite of its permissions."""
    try:
        connection = sqlite3.connect(address(path, "ro"), uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorcode & 0xFF
        return code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
    except sqlite3.DatabaseError:
        return False  # the next reader raises a typed error
    return False
