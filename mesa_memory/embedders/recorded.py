"""Vectors that a recorded run knows already, and an embedder for all others."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from mesa_memory.embedders.base import vectors_by


class KnownVectors(Protocol):
    """The vectors of a recorded run.

    Attributes:
        complete: True if nothing else may be asked: the run is being replayed.
    """

    complete: bool

    def find(self, name: str, texts: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Float32 vectors by text, of those texts that the embedder ``name`` was given.

        Raises:
            StoreError: if they cannot be read.
        """

    def missing(self, name: str, texts: Sequence[str]) -> Exception:
        """The error for texts that a replayed run was not given."""


class VectorCache(Protocol):
    """Vectors of texts that earlier runs asked for."""

    def vectors(self, embedder: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The cached vectors of these texts, as far as they are known."""

    def store_vectors(self, embedder: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Caches the vectors of texts."""


class Vectors:
    """Vectors of texts: from a recorded run if they are there, else of an embedder.

    Attributes:
        known: the run that is resumed or replayed; None in a new run.
    """

    def __init__(self, known: KnownVectors | None = None) -> None:
        self.known = known

    def embed(
        self,
        embedder: Any,
        texts: Sequence[str],
        recorder: Any,
        cache: VectorCache | None = None,
    ) -> np.ndarray:
        """The vectors of texts, float32 of shape (texts, dim).

        Args:
            recorder: records vectors that its run does not have; may be None.
            cache: asked before the embedder; None asks the embedder.

        Raises:
            EmbedderError: of the embedder.
            ReplayMismatch: if a replayed run has not got them all.
            StoreError: if the recorded run cannot be read.
        """
        name, known = str(embedder.name), self.known
        wanted = list(dict.fromkeys(texts))
        found = dict(known.find(name, wanted)) if known else {}
        missing = [text for text in wanted if text not in found]
        if missing and known is not None and known.complete:
            raise known.missing(name, missing)
        new = _made(embedder, missing, cache)
        if recorder is not None:
            recorder.vectors(name, found | new)
        return np.stack([found[t] if t in found else new[t] for t in texts])


def _made(
    embedder: Any, texts: Sequence[str], cache: VectorCache | None
) -> dict[str, np.ndarray]:
    """Vectors from the cache, or of the embedder."""
    if not texts:
        return {}
    if cache is None:
        return dict(zip(texts, vectors_by(embedder, texts)))
    found = cache.vectors(str(embedder.name), texts)
    if missing := [text for text in texts if text not in found]:
        made = dict(zip(missing, vectors_by(embedder, missing)))
        cache.store_vectors(str(embedder.name), made)
        found |= made
    if len({len(vector) for vector in found.values()}) > 1:
        # Another model of the same name made the cached vectors.
        found = dict(zip(texts, vectors_by(embedder, texts)))
        cache.store_vectors(str(embedder.name), found)
    return found
