"""An embedder that embeds each text once in a process."""

from collections.abc import Sequence
from typing import Any

import numpy as np


class RememberedEmbedder:
    """Asks another embedder only for texts that it has not embedded yet.

    Args:
        inner: the embedder that is asked.
    """

    def __init__(self, inner: Any) -> None:
        self.inner, self.name, self.batch = inner, inner.name, inner.batch
        self.local = bool(getattr(inner, "local", False))
        self.languages = getattr(inner, "languages", None)
        self._rows: dict[str, np.ndarray] = {}

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.inner.dim

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts, in their order."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if missing:
            self._rows.update(zip(missing, self.inner.embed(missing), strict=True))
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        return np.stack([self._rows[text] for text in texts])
