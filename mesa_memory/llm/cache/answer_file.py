"""The SQLite file of kept answers: opened, read and written by several processes."""

import sqlite3
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from mesa_memory.core.at_fork import at_fork
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import CacheError

logger = logger_of(__name__)

#: how the file says what it is: SQLite's application id ("mmac"), and the version of its form
APPLICATION, VERSION = 0x6D6D6163, 1
#: milliseconds to wait for another process that writes
PATIENCE_MS = 10_000
#: longest row, in bytes; a stranger's file may hold anything
LONGEST = 2**25

_TABLE = (
    "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, reply TEXT NOT NULL)"
)
_READ = "SELECT reply FROM answers WHERE key = ?"
_WRITE = {
    False: "INSERT OR IGNORE INTO answers VALUES (?, ?)",
    True: "INSERT OR REPLACE INTO answers VALUES (?, ?)",
}
#: SQLite's codes for a file, or a disk, that may only be read
_NO_WRITING = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CANTOPEN,
)


class AnswerFile:
    """Texts by key. Reads do not wait for writes; both may be called from any thread.

    Args:
        path: the file, made if it is not there; its folder must be.

    Attributes:
        path: as given.
        writable: False for a file that may only be read.

    Raises:
        CacheError: if it cannot be opened, or is something else.
    """

    _all: ClassVar["weakref.WeakSet[AnswerFile]"] = weakref.WeakSet()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writable = True
        self._connections: dict[str, sqlite3.Connection] = {}
        self._locks = {"reader": threading.Lock(), "writer": threading.Lock()}
        self._closing = weakref.finalize(self, _close, self._connections)
        with self._locks["reader"]:
            self._connection("reader")
        self._all.add(self)

    def read(self, key: bytes) -> str | None:
        """The text under a key; None if there is none.

        Raises:
            sqlite3.Error, CacheError: if the file cannot be read.
        """
        with self._locks["reader"]:
            row = self._connection("reader").execute(_READ, (key,)).fetchone()
        return row and row[0]

    def write(
        self, rows: Sequence[tuple[bytes, str]], instead: bool, patience: int
    ) -> bool:
        """Writes all of them, or none.

        Args:
            instead: in place of what is there; else that stays.
            patience: milliseconds to wait for another process that writes.

        Returns:
            True if the last of them is written.

        Raises:
            sqlite3.Error, CacheError: if the file cannot be written.
        """
        with self._locks["writer"]:
            file = self._connection("writer")
            file.execute(f"PRAGMA busy_timeout = {patience:d}")
            file.execute("BEGIN IMMEDIATE")
            try:
                written = [file.execute(_WRITE[instead], row).rowcount for row in rows]
                file.execute("COMMIT")
            except BaseException:
                if file.in_transaction:
                    file.execute("ROLLBACK")
                raise
        return bool(written[-1])

    def forked(self) -> None:
        """In a child process: connections of its own."""
        self._closing.detach()
        _inherited.append(self._connections)  # to close them would disturb the parent
        self._connections = {}
        self._closing = weakref.finalize(self, _close, self._connections)
        self._locks = {name: threading.Lock() for name in self._locks}

    # -- opening --------------------------------------------------------------------

    def _connection(self, name: str) -> sqlite3.Connection:
        """One of the two connections, opened when it is first needed."""
        if name not in self._connections:
            try:
                self._connections[name] = self._opened()
            except sqlite3.Error as error:
                raise CacheError(
                    f"the answers in it cannot be used: {error}. Give the path of a "
                    "file that may be written, or of one that is not there yet, in a "
                    "folder that is.",
                    location=str(self.path),
                ) from error
        return self._connections[name]

    def _opened(self) -> sqlite3.Connection:
        try:
            return self._connected(str(self.path))
        except sqlite3.OperationalError as error:
            if _code(error) not in _NO_WRITING or not self.path.is_file():
                raise
            # On a disk that may only be read, there is no place for a journal.
            self.writable = False
            return self._connected(f"{self.path.as_uri()}?immutable=1")

    def _connected(self, address: str) -> sqlite3.Connection:
        file = sqlite3.connect(
            address,
            timeout=PATIENCE_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
            uri=address.startswith("file:"),
        )
        try:
            file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            file.execute("PRAGMA trusted_schema = OFF")
            self._make(file)
            self._check(file)
            _write_ahead(file, self.path)
        except BaseException:
            file.close()
            raise
        return file

    def _make(self, file: sqlite3.Connection) -> None:
        """A file in which there is nothing becomes one of answers."""
        file.execute("BEGIN")  # nobody makes it while this looks at it
        empty = self._is_empty(file)
        file.execute("COMMIT")
        if not empty:
            return
        file.execute("BEGIN IMMEDIATE")
        if self._is_empty(file):  # no other process was faster
            file.execute(_TABLE)
            file.execute(f"PRAGMA application_id = {APPLICATION}")
            file.execute(f"PRAGMA user_version = {VERSION}")
        file.execute("COMMIT")

    def _is_empty(self, file: sqlite3.Connection) -> bool:
        """True if there is nothing in the file yet.

        Raises:
            CacheError: if it is of another program.
        """
        application = _pragma(file, "application_id")
        if application == APPLICATION:
            return False
        if application or _pragma(file, "schema_version"):
            raise CacheError(
                "this file is not a cache of answers, and a recorded run cannot be used "
                "as one. Give another path to configure(cache=…).",
                location=str(self.path),
            )
        return True

    def _check(self, file: sqlite3.Connection) -> None:
        if (version := _pragma(file, "user_version")) > VERSION:
            raise CacheError(
                f"a newer version of this package made it (form {version}, known is "
                f"{VERSION}). Use that version, or another file.",
                location=str(self.path),
            )
        file.execute(_READ, (b"",))  # what is wrong with its table shows here


def damaged(error: Exception) -> bool:
    """True if what SQLite found is no database, or a broken one."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def forbidden(error: Exception) -> bool:
    """True if SQLite was not allowed to write."""
    return _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 for any other error."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def _pragma(file: sqlite3.Connection, name: str) -> int:
    return file.execute(f"PRAGMA {name}").fetchone()[0]


def _write_ahead(file: sqlite3.Connection, path: Path) -> None:
    """Lets readers go on while somebody writes, where the disk can do that."""
    file.execute("PRAGMA synchronous = NORMAL")
    try:
        file.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # Another process is just doing it, or the file may only be read.
        logger.debug("%s: %s", path, error)


#: connections of a parent process
_inherited: list[dict[str, sqlite3.Connection]] = []


def _close(connections: dict[str, Any]) -> None:
    for file in connections.values():
        file.close()


def _after_fork_in_child() -> None:
    for file in list(AnswerFile._all):
        file.forked()


at_fork(after_in_child=_after_fork_in_child)
