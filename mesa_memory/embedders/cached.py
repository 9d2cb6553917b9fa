"""Vectors that were computed before, in memory and in a file."""

import hashlib
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from mesa_memory.embedders.base import Embedder, check_vectors, clean, vectors_by
from mesa_memory.errors import EmbedderError

#: texts to one SQL query; SQLite before 3.32 allows 999 parameters
CHUNK = 500
#: seconds to wait for another process that writes
PATIENCE = 60.0

_TABLE = """CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (model, text)) WITHOUT ROWID"""


class CachedEmbedder:
    """Asks ``inner`` only for texts that nobody has asked for yet.

    Safe in threads, and several processes may share a file; two that meet a new text at
    the same time both compute it.

    Args:
        inner: the embedder behind; its name is part of the key.
        path: an SQLite file, made if absent; None keeps vectors in memory only. It
            holds hashes of the texts, not the texts.
        capacity: the most vectors in memory; the least used go first. 100,000
            vectors of 256 numbers take about 130 MB. The file has no limit.
    """

    def __init__(
        self, inner: Embedder, path: str | Path | None = None, capacity: int = 100_000
    ) -> None:
        if capacity <= 0:
            raise ValueError(f"capacity must be above 0, got {capacity}")
        self.inner, self.capacity = inner, capacity
        self.path = Path(path).expanduser().resolve() if path else None
        self._memory: OrderedDict[str, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """That of the embedder behind."""
        return self.inner.name

    @property
    def local(self) -> bool:
        """That of the embedder behind."""
        return bool(getattr(self.inner, "local", False))

    @property
    def dim(self) -> int:
        """That of the embedder behind."""
        return self.inner.dim

    @property
    def batch(self) -> int:
        """That of the embedder behind."""
        return self.inner.batch

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``.

        Raises:
            EmbedderError: also if the file cannot be used.
        """
        asked = clean(texts)
        wanted = list(dict.fromkeys(asked))
        found = self._recall(wanted)
        missing = [text for text in wanted if text not in found]
        if missing and self.path:
            found |= self._read(missing)
            missing = [text for text in missing if text not in found]
        if missing:
            new = self._compute(missing)
            found |= new
            self._write(new)
        self._keep(found)
        if not asked:
            return np.zeros((0, self.dim), dtype=np.float32)
        return np.stack([found[text] for text in asked])

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__ | {"_memory": OrderedDict()}
        del kept["_lock"]
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def _recall(self, texts: list[str]) -> dict[str, np.ndarray]:
        memory = self._memory
        with self._lock:
            return {text: memory[text] for text in texts if text in memory}

    def _keep(self, found: dict[str, np.ndarray]) -> None:
        """Makes these the newest."""
        with self._lock:
            for text, vector in found.items():
                self._memory[text] = vector
                self._memory.move_to_end(text)
            while len(self._memory) > self.capacity:
                self._memory.popitem(last=False)

    def _compute(self, texts: list[str]) -> dict[str, np.ndarray]:
        rows = vectors_by(self.inner, texts)
        # Copies: a view would keep the whole batch in memory as long as one row.
        return {text: row.copy() for text, row in zip(texts, rows)}

    def _read(self, texts: list[str]) -> dict[str, np.ndarray]:
        keys = {_key(text): text for text in texts}
        found: dict[str, np.ndarray] = {}
        for start in range(0, len(texts), CHUNK):
            part = list(keys)[start : start + CHUNK]
            marks = ",".join("?" * len(part))
            query = f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})"  # noqa: S608
            for key, stored in self._query(query, [self.name, *part]):
                found[keys[key]] = self._vector(stored)
        return found

    def _vector(self, stored: bytes) -> np.ndarray:
        if len(stored) != 4 * self.dim:
            raise EmbedderError(
                f"the cache {self.path} has a vector of {len(stored)} bytes where "
                f"{self.name} makes {4 * self.dim}. It was written with another model "
                "of this name: delete the file, or give another path."
            )
        row = np.frombuffer(stored, dtype="<f4").astype(np.float32)
        return check_vectors(row[None], 1, self.dim, f"the cache {self.path}")[0]

    def _write(self, new: dict[str, np.ndarray]) -> None:
        if self.path:
            rows = [
                (self.name, _key(text), vector.astype("<f4").tobytes())
                for text, vector in new.items()
            ]
            # What another process has written meanwhile is the same vector.
            self._query("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows, True)

    def _query(self, sql: str, values: list[Any], many: bool = False) -> list[Any]:
        """Runs one statement in a connection of its own.

        A connection must not pass a fork or be used in two threads, and opening one is
        fast beside computing vectors. The journal is SQLite's usual one, as its faster
        one (WAL) does not work on the network disks of clusters.
        """
        assert self.path
        try:
            connection = sqlite3.connect(self.path, timeout=PATIENCE)
            with closing(connection), connection:
                connection.execute(_TABLE)
                if many:
                    connection.executemany(sql, values)
                    return []
                return connection.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            raise EmbedderError(
                f"the cache {self.path} cannot be used: {error}. Check that its folder "
                "exists and can be written to, or give another path."
            ) from error
        except sqlite3.DatabaseError as error:
            raise EmbedderError(
                f"the cache {self.path} is damaged or not ours: {error}. Delete it "
                "(its vectors are computed again), or give another path."
            ) from error


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=20).digest()
