"""Transformer models in ONNX, on this machine, with fastembed."""

from pathlib import Path
from typing import Any

from mesa_memory.embedders.local import LocalEmbedder
from mesa_memory.errors import EmbedderError, MissingExtra


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
