"""Transformer models in ONNX, on this machine, with fastembed."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mesa_memory.embedders.base import around_blanks, check_vectors, clean, normalised
from mesa_memory.errors import EmbedderError, MissingExtra


class FastEmbedder:
    """Any text model that fastembed knows.

    The model is loaded on first use, from files that are already here unless
    ``download`` is set. Texts are embedded one by one: on one core this is faster than
    padding them to the longest, and with quantised models a text's vector would
    otherwise depend on its neighbours (cosine down to 0.96).

    Args:
        model: a name of ``fastembed.TextEmbedding.list_supported_models()``.
        folder: with the files of this very model, instead of the cache.
        cache_dir: where fastembed keeps models; None is ``$FASTEMBED_CACHE_PATH`` or a
            folder for temporary files.
        download: fetch the model if it is not here. Off, because without a network
            this takes a minute to fail.

    Raises:
        MissingExtra: on first use, if fastembed is not installed.
        EmbedderError: on first use, if the model is not here; at once.
    """

    batch = 32

    def __init__(
        self,
        model: str = "BAAI/bge-small-en-v1.5",
        folder: str | Path | None = None,
        cache_dir: str | Path | None = None,
        download: bool = False,
    ) -> None:
        self.model, self.download = model, download
        self.folder = Path(folder).expanduser().resolve() if folder else None
        self.cache_dir = str(cache_dir) if cache_dir else None
        # Files of one's own may be another version of the model, such as a quantised.
        self.name = f"fastembed:{model}" + (f"@{self.folder}" if folder else "")
        self._loaded: Any = None
        self._lock = threading.Lock()

    @property
    def dim(self) -> int:
        """Length of a vector; loads the model."""
        return int(self._ready().embedding_size)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``."""
        return around_blanks(clean(texts), self._embed, lambda: self.dim)

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__ | {"_loaded": None}
        del kept["_lock"]
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def _embed(self, texts: list[str]) -> np.ndarray:
        model = self._ready()
        try:
            rows = list(model.embed(texts, batch_size=1))
        except Exception as error:  # onnxruntime has classes of its own
            raise EmbedderError(
                f"{self.name} could not embed {len(texts)} text(s): {error}. Check "
                "that the files are those of this model."
            ) from error
        return normalised(check_vectors(rows, len(texts), self.dim, self.name))

    def _ready(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Any:
        library = _library()
        if self.folder and not self.folder.is_dir():
            raise EmbedderError(
                f"the folder {self.folder} for {self.model!r} was not found"
            )
        # Files that are here are never looked for on the network.
        for local in (True, False) if self.download and not self.folder else (True,):
            try:
                return library(
                    self.model,
                    cache_dir=self.cache_dir,
                    threads=1,
                    specific_model_path=str(self.folder) if self.folder else None,
                    local_files_only=local,
                )
            except Exception as error:  # several libraries, with classes of their own
                failure = error
        raise EmbedderError(
            f"the embedding model {self.model!r} cannot be loaded from "
            f"{self.folder or 'the files on this machine'}"
            f"{' or the network' if not local else ''}: {failure} A folder must hold "
            "the ONNX file and tokenizer.json of this very model. Check the name (see "
            "fastembed.TextEmbedding.list_supported_models()) and fetch the model once "
            f"with FastEmbedder({self.model!r}, download=True), or use "
            "embedder('static'), which needs no files."
        ) from failure


def _library() -> Any:
    """Fastembed's class without its log, since its problems are raised as errors."""
    try:
        from fastembed import TextEmbedding
    except ModuleNotFoundError as error:
        if error.name != "fastembed":
            raise
        raise MissingExtra("fastembed", "fastembed") from error
    from loguru import logger

    logger.disable("fastembed")
    return TextEmbedding
