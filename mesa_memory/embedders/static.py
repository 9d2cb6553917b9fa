"""A table of token vectors: fast, deterministic, offline; one is shipped."""

import os
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mesa_memory.embedders.base import around_blanks, check_vectors, clean, normalised
from mesa_memory.errors import EmbedderError

SHIPPED = Path(__file__).parent / "model"
#: changes with the shipped table, so that stored vectors are never mixed up
SHIPPED_NAME = "static:mesa-memory-1"


class StaticEmbedder:
    """Sums up the vectors of a text's tokens, with the model2vec library.

    The table is loaded on first use and shared by all embedders of the process that
    name the same model. Safe in threads; a pickle holds the name only. Of a long text
    model2vec reads the first 512 tokens (about 3,000 characters), unless the model's
    own settings say otherwise.

    Args:
        model: None for the shipped table (English, 256 dimensions), else a folder in
            model2vec's format or the Hugging Face name of such a model, which must be
            on this machine already: nothing is ever downloaded.
    """

    batch = 1024
    local = True

    def __init__(self, model: str | Path | None = None) -> None:
        self._model = _settled(model)
        self.name = SHIPPED_NAME if model is None else f"static:{self._model}"

    @property
    def dim(self) -> int:
        """Length of a vector; loads the table."""
        return _shared(self._model).dim

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``."""
        table = _shared(self._model)
        return around_blanks(
            clean(texts), partial(table.embed, source=self.name), lambda: table.dim
        )


class _Table:
    """A loaded model, for one thread at a time."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.dim = int(model.dim)
        # encode() changes the tokenizer's settings for the time of the call, which
        # fails while another thread uses it.
        self._lock = threading.Lock()

    def embed(self, texts: list[str], source: str) -> np.ndarray:
        with self._lock:
            vectors = self.model.encode(
                texts, show_progress_bar=False, use_multiprocessing=False
            )
        return normalised(check_vectors(vectors, len(texts), self.dim, source))


_tables: dict[str, _Table] = {}
_loading = threading.Lock()


def _settled(model: str | Path | None) -> str:
    """A name that means the same in every working directory."""
    if model is None:
        return str(SHIPPED)
    folder = Path(model).expanduser()
    return str(folder.resolve() if folder.is_dir() else model)


def _shared(model: str) -> _Table:
    """The process's one table of this model."""
    with _loading:
        if model not in _tables:
            # Tokenizers' own threads gain little here, and a process that forks after
            # they have run is warned about on its console.
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
            _tables[model] = _Table(_load(model))
        return _tables[model]


def _load(model: str) -> Any:
    if model == str(SHIPPED):
        return _load_shipped()
    folder = model if Path(model).is_dir() else _cached_folder(model)
    from model2vec import StaticModel

    try:
        return StaticModel.from_pretrained(folder)
    except Exception as error:  # each of four libraries has errors of its own
        raise EmbedderError(
            f"the static embedding model {model!r} cannot be loaded from {folder}: "
            f"{error}. The folder must hold config.json, model.safetensors and "
            "tokenizer.json in model2vec's format."
        ) from error


def _load_shipped() -> Any:
    """The shipped table, without the hub client, whose import takes a second."""
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    vectors = load_file(SHIPPED / "model.safetensors")["embeddings"]
    tokenizer = Tokenizer.from_file(str(SHIPPED / "tokenizer.json"))
    return StaticModel(vectors, tokenizer, normalize=True)


def _cached_folder(name: str) -> str:
    """The folder of a model in the Hugging Face cache.

    Raises:
        EmbedderError: if it has not.
    """
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(name, local_files_only=True)
    except Exception as error:  # the hub's classes differ between its versions
        raise EmbedderError(
            f"the static embedding model {name!r} is neither a folder nor in the "
            "Hugging Face cache of this machine, and nothing is downloaded here. Get "
            f"it once, with a network: hf download {name} - or give a folder, or "
            "StaticEmbedder() for the shipped table."
        ) from error
