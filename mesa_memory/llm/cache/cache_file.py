"""A SQLite file of cached values, shared by runs and processes.

A file that cannot be used at the start is a ``CacheError``. If it fails later, one
warning says so, and values that cannot be read or written are computed again.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import CacheError

logger = logger_of(__name__)

#: SQLite's application id of a cache ("mmac"), and the version of its format
APPLICATION_ID, FORMAT_VERSION = 0x6D6D6163, 1
#: seconds to wait for another process that writes, and after a write has failed
LOCK_TIMEOUT_S, SHORT_LOCK_TIMEOUT_S = 10.0, 0.05
#: longest cached value; a stranger's file may hold anything
MAX_VALUE_BYTES = 2**24

_CREATE = "CREATE TABLE IF NOT EXISTS cached (key BLOB PRIMARY KEY, value BLOB)"
_READ = "SELECT value FROM cached WHERE key = ?"
_WRITE = "INSERT OR {} INTO cached VALUES (?, ?)"


class CacheFile:
    """Values by key, which processes may share: each call opens its own connection.

    The journal is SQLite's usual one, which network disks of clusters support, too.

    Args:
        path: the file; it is made if it does not exist, its folder must exist.

    Raises:
        CacheError: if the file cannot be opened, or is not a cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._warned: set[str] = set()
        self._readable = self._writable = True
        self._writing = threading.Lock()
        try:
            with self._connection(LOCK_TIMEOUT_S) as file:
                file.execute(_READ, (b"",))
        except sqlite3.Error as error:
            raise CacheError(
                f"the cache cannot be used: {error}. Expected a cache of this package, "
                "or a new file in an existing folder that may be written. Give another "
                "path to configure(cache=…).",
                location=str(path),
            ) from error

    def read(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The cached values of these keys, as far as they are known."""
        if not self._readable:
            return {}
        try:
            with self._connection(LOCK_TIMEOUT_S) as file:
                rows = {key: file.execute(_READ, (key,)).fetchone() for key in keys}
        except (sqlite3.Error, CacheError) as error:
            self.warn("read", error)
            return {}
        return {k: row[0] for k, row in rows.items() if row and type(row[0]) is bytes}

    def write(self, values: Mapping[bytes, bytes], replace: bool = False) -> None:
        """Writes values.

        Args:
            replace: in place of the stored values; otherwise these stay.
        """
        rows = [(k, v) for k, v in values.items() if len(v) <= MAX_VALUE_BYTES]
        if not rows or not self._writable:
            return
        failed_before = "written" in self._warned
        timeout = SHORT_LOCK_TIMEOUT_S if failed_before else LOCK_TIMEOUT_S
        write = _WRITE.format("REPLACE" if replace else "IGNORE")
        try:
            with self._writing, self._connection(timeout) as file:
                file.execute("BEGIN IMMEDIATE")
                file.executemany(write, rows)
                file.execute("COMMIT")
        except (sqlite3.Error, CacheError) as error:
            self.warn("written", error)

    def warn(self, failed: str, error: Exception) -> None:
        """Warns once that the file cannot be ``"read"`` or ``"written"``."""
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            self._readable = self._writable = False
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            self._writable = False
        if failed not in self._warned:
            self._warned.add(failed)
            logger.warning(
                "the cache %s cannot be %s now (%s). Models are asked instead, and the "
                "run loses nothing.",
                *(self.path, failed, str(error)),
            )

    @contextmanager
    def _connection(self, timeout: float) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=timeout, isolation_level=None)
        with closing(connection) as file:
            file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * MAX_VALUE_BYTES)
            file.execute("PRAGMA trusted_schema = OFF")
            self._prepare(file)
            yield file

    def _prepare(self, file: sqlite3.Connection) -> None:
        """Makes an empty file a cache.

        Raises:
            CacheError: if the file belongs to another program or a newer version.
        """
        if not _pragma(file, "schema_version") and not _pragma(file, "application_id"):
            file.execute("BEGIN IMMEDIATE")
            if not _pragma(file, "schema_version"):  # else another process was faster
                file.execute(_CREATE)
                file.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                file.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            file.execute("COMMIT")
        if _pragma(file, "application_id") != APPLICATION_ID:
            raise CacheError(
                "this file is not a cache, and a recorded run cannot be used as one. "
                "Give another path to configure(cache=…).",
                location=str(self.path),
            )
        if (version := _pragma(file, "user_version")) > FORMAT_VERSION:
            raise CacheError(
                f"this cache has format {version}, expected at most {FORMAT_VERSION}: a "
                "newer version of this package made it. Use that version, or give "
                "another path to configure(cache=…).",
                location=str(self.path),
            )


def _pragma(file: sqlite3.Connection, name: str) -> int:
    return file.execute(f"PRAGMA {name}").fetchone()[0]
