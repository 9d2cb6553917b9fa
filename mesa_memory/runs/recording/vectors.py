"""Vectors of a recorded run, so that a remote embedder is asked once.

The shipped embedder gives the same vector everywhere, so its vectors are not kept. Any
other may be out of reach, cost money, or answer differently tomorrow.
"""

import base64
import hashlib
from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa

from mesa_memory.errors import ReplayMismatch, StoreCorrupt
from mesa_memory.stores.schema import vectors
from mesa_memory.stores.sql import Store


class RecordedVectors:
    """The vectors in a run.

    Args:
        store, run: where they are.
        complete: True if nothing else may be asked: the run is being replayed.
    """

    def __init__(self, store: Store, run: int, complete: bool = False) -> None:
        self._store, self._run, self.complete = store, run, complete

    def find(self, name: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Float32 vectors by text, of those texts that the embedder ``name`` was given.

        Raises:
            StoreError: if the store fails.
        """
        keys = {key_of(name, text): text for text in texts}
        query = sa.select(vectors.c.key, vectors.c.vector).filter_by(run=self._run)
        with self._store.reading() as on:
            rows = on.execute(query.where(vectors.c.key.in_(keys))).all()
        return {keys[key]: self._vector(written) for key, written in rows}

    def missing(self, name: str, texts: Sequence[str]) -> ReplayMismatch:
        """The error for texts that a replayed run was not given."""
        return ReplayMismatch(
            f"the recorded run lacks the vectors by {name} of {len(texts)} texts, such as "
            f"{texts[0]!r:.80}. Replay needs the same model, parameters, embedder and "
            "versions.",
            purpose="embed",
        )

    def _vector(self, written: str) -> np.ndarray:
        try:
            raw = base64.b64decode(written, validate=True)
            vector = np.frombuffer(raw, dtype="<f4").astype(np.float32)
        except ValueError as error:
            raise self._corrupt() from error
        if not np.isfinite(vector).all():
            raise self._corrupt()
        return vector

    def _corrupt(self) -> StoreCorrupt:
        return StoreCorrupt(
            "an embedding in it cannot be read. The file was changed or damaged; restore "
            "a backup.",
            location=self._store.location,
        )


def key_of(name: str, text: str) -> str:
    """Under which the vector of a text by the embedder ``name`` is kept."""
    said = f"{name}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=20).hexdigest()


def row_of(key: str, vector: np.ndarray) -> dict[str, str]:
    """The row of a vector: float32, little-endian, in base64."""
    raw = np.asarray(vector, dtype="<f4").tobytes()
    return {"key": key, "vector": base64.b64encode(raw).decode("ascii")}
