"""The shipped table of token vectors: fast, deterministic, offline."""

import os
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mesa_memory.embedders.base import (
    ENGLISH_ONLY,
    around_blanks,
    clean,
    is_latin,
    normalised,
)

SHIPPED = Path(__file__).parent / "model"
#: changes with the shipped table, so that stored vectors are never mixed up
SHIPPED_NAME = "static:mesa-memory-1"


class StaticEmbedder:
    """Sums up the vectors of a text's tokens, with the model2vec library.

    The table (English, 256 dimensions) is loaded on first use and shared by all
    embedders of the process. Safe in threads. Of a long text model2vec reads the first
    512 tokens (about 3,000 characters). A text in another script has a vector of zeros:
    a recall then ranks it by its words.
    """

    batch = 1024
    local = True
    languages = ENGLISH_ONLY
    name = SHIPPED_NAME

    @property
    def dim(self) -> int:
        """Length of a vector; loads the table."""
        with _one_thread:
            return int(_table().dim)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``."""
        return around_blanks(clean(texts), _embedded, lambda: self.dim, is_latin)


#: for loading, and for one thread at a time: encode() changes the tokenizer's settings
#: for the time of the call, which fails while another thread uses it
_one_thread = threading.Lock()


def _embedded(texts: list[str]) -> np.ndarray:
    with _one_thread:
        vectors = _table().encode(
            texts, show_progress_bar=False, use_multiprocessing=False
        )
    return normalised(np.asarray(vectors))


@cache
def _table() -> Any:
    """The shipped table, without the hub client, whose import takes a second."""
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    # Tokenizers' own threads gain little here, and a process that forks after they
    # have run is warned about on its console.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    vectors = load_file(SHIPPED / "model.safetensors")["embeddings"]
    tokenizer = Tokenizer.from_file(str(SHIPPED / "tokenizer.json"))
    return StaticModel(vectors, tokenizer, normalize=True)
