"""Embedders: texts to vectors, one technology per file, loaded on first use."""

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from mesa_memory.embedders.base import Embedder

__all__ = ["embedder"]

_POSSIBLE = (
    "'static', 'minilm', 'multilingual', 'fastembed', "
    "'fastembed:<model>', 'litellm:<provider/model>', or an object with embed(), name and dim"
)


def embedder(spec: object) -> "Embedder":
    """The embedder that ``spec`` names, or ``spec`` itself if it is one.

    Raises:
        ValueError: lists what is possible.
    """
    if isinstance(spec, str):
        return _named(spec)
    # Not hasattr for dim: reading it may load a model.
    parts = dir(spec) if not isinstance(spec, type) else ()
    if {"embed", "name", "dim"} <= set(parts):
        return cast("Embedder", spec)
    raise ValueError(f"an embedder is {_POSSIBLE}; got {spec!r}")


def _named(spec: str) -> "Embedder":
    kind, colon, model = spec.partition(":")
    if colon and not model:
        kind = ""  # a name was announced and none given
    if spec == "static":
        from mesa_memory.embedders.static import StaticEmbedder

        return StaticEmbedder()
    if spec == "minilm":
        from mesa_memory.embedders.local import MiniLMEmbedder

        return MiniLMEmbedder()
    if spec == "multilingual":
        from mesa_memory.embedders.local import MultilingualEmbedder

        return MultilingualEmbedder()
    if kind == "fastembed":
        from mesa_memory.embedders.local import FastEmbedder

        return FastEmbedder(model) if model else FastEmbedder()
    if kind == "litellm" and model:
        from mesa_memory.embedders.litellm import LiteLLMEmbedder

        return LiteLLMEmbedder(model)
    raise ValueError(f"an embedder is {_POSSIBLE}; got {spec!r}")
