"""Requests to an embedder, and their answers."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EmbedRequest:
    """Texts to be turned into vectors; the answer is an ``Embedded``.

    Attributes:
        agent: unique id of the asking agent; ``step``: the model's clock.
    """

    texts: tuple[str, ...]
    agent: Any
    step: float


@dataclass(frozen=True)
class Embedded:
    """Vectors, shape (texts, dim), and the name of the embedder that made them."""

    vectors: Any
    source: str
