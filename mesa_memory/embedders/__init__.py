"""Embedders: texts to vectors, one technology per file, loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from mesa_memory.embedders.base import Embedder

__all__ = ["embedder"]

#: module and class by name; some take the name of a model
_PLACES = {
    "static": "static.StaticEmbedder", "minilm": "local.MiniLMEmbedder",
    "multilingual": "local.MultilingualEmbedder", "fastembed": "local.FastEmbedder",
    "litellm": "litellm.LiteLLMEmbedder",
}  # fmt: skip
_WITH_MODEL = ("fastembed", "litellm")
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
    if kind not in _PLACES or (model and kind not in _WITH_MODEL) or spec == "litellm":
        raise ValueError(f"an embedder is {_POSSIBLE}; got {spec!r}")
    module, _, name = _PLACES[kind].partition(".")
    make = getattr(import_module(f"{__name__}.{module}"), name)
    return make(model) if model else make()
