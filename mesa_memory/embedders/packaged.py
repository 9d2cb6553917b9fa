"""Transformers on this machine, whose weights come with a package."""

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mesa_memory.embedders.base import around_blanks, check_vectors, clean, normalised


class PackagedEmbedder:
    """Embeds texts one by one: a text's vector does not depend on its neighbours.

    Attributes:
        name: of the model; ``dim`` of its vectors.
    """

    batch = 32
    name: ClassVar[str]
    dim: ClassVar[int] = 384

    def __init__(self) -> None:
        self._loaded: Any = None
        self._lock = threading.Lock()  # an engine has one working space

    def load(self) -> Any:
        """The model, ready to embed; called once, on first use.

        Raises:
            MissingExtra: if the package is not installed.
        """
        raise NotImplementedError

    def vector(self, model: Any, text: str) -> Any:
        """The vector of a text, of any length, by a model of ``load``."""
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``."""
        return around_blanks(clean(texts), self._embed, lambda: self.dim)

    def __reduce__(self) -> tuple:
        return type(self), ()

    def _embed(self, texts: list[str]) -> np.ndarray:
        with self._lock:
            if self._loaded is None:
                self._loaded = self.load()
            rows = [self.vector(self._loaded, text) for text in texts]
        return normalised(check_vectors(rows, len(texts), self.dim, self.name))
