"""Vectors that a recorded run knows already, and an embedder for all others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mesa_memory.embedders.base import vectors_by


class Vectors:
    """Vectors of texts: from a recorded run if they are there, else of an embedder.

    Attributes:
        known: the ``RecordedVectors`` of the run that is resumed or replayed; None in a new
            run.
    """

    def __init__(self, known: Any = None) -> None:
        self.known = known

    def embed(
        self, embedder: Any, texts: Sequence[str], recorder: Any, cache: Any = None
    ) -> np.ndarray:
        """The vectors of texts, float32 of shape (texts, dim).

        Args:
            recorder: records vectors that its run does not have; may be None.
            cache: a ``ResponseCache``, asked before the embedder; None asks the embedder.

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


def _made(embedder: Any, texts: Sequence[str], cache: Any) -> dict[str, np.ndarray]:
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
