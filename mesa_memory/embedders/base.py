"""The shape of an embedder, and the common handling of texts and vectors."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mesa_memory.core.content import plain
from mesa_memory.errors import EmbedderError

#: of embedders that know English alone
ENGLISH_ONLY = frozenset({"en"})


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    An embedder may say of itself ``local = True``: it answers at once in this process,
    and always the same. Then it is asked in the simulation's own thread, and a recorded
    run does not keep its vectors, since they can be had again. Without it, texts are
    embedded in the background, and the vectors are kept. It may name its ``languages``
    (codes such as ``"en"``; None or nothing: all): texts of agents with another one are
    not embedded, and are recalled by their words.

    Attributes:
        name: says which model made a vector; vectors of different names must not be
            compared.
        dim: length of a vector; reading it may load the model.
        batch: how many texts to a call suit it; any number is allowed.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - described by the class

    @property
    def dim(self) -> int: ...  # noqa: D102

    @property
    def batch(self) -> int: ...  # noqa: D102

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Float32 of shape (len(texts), dim), in the order of the texts.

        Each row has length 1, or is all zeros if the model knows no token of its text:
        an empty one, a blank one, one without any known token. Never NaN. The same text
        gives the same row in every batch.

        Raises:
            EmbedderError: if a text did not get a vector.
            TypeError: if ``texts`` is not a sequence of texts.
        """


def clean(texts: Sequence[str]) -> list[str]:
    """The texts as a list, without lone surrogates, which no tokenizer accepts.

    Raises:
        TypeError: for a single text, or if an item is not a text.
    """
    if isinstance(texts, str | bytes):
        raise TypeError(f"texts must be a sequence of texts, got one: {texts[:40]!r}")
    listed = list(texts)
    for text in listed:
        if not isinstance(text, str):
            raise TypeError(f"texts must hold str only, got {type(text).__name__}")
    return [plain(text) for text in listed]


def vectors_by(embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
    """An embedder's vectors of texts, checked: float32 of shape (texts, dim).

    Raises:
        EmbedderError: of the embedder; or, naming its class, if it gave anything else.
    """
    given, source = embedder.embed(texts), f"{type(embedder).__name__}.embed()"
    return check_vectors(given, len(texts), embedder.dim, source)


def check_vectors(vectors: Any, n: int, dim: int, source: str) -> np.ndarray:
    """The vectors as float32, if they are ``n`` finite rows of ``dim`` numbers.

    Args:
        vectors: anything numpy can read.
        n: how many rows there must be.
        dim: how long each must be.
        source: who gave them, for the message.

    Raises:
        EmbedderError: says what is wrong.
    """
    try:
        array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        array, found = np.zeros(0), f"what is not a table of numbers ({error})"
    else:
        found = f"vectors of shape {array.shape}"
    if n == 0 and array.size == 0:
        return np.zeros((0, dim), dtype=np.float32)
    if array.shape == (n, dim):
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1)).tolist()
        if not bad:
            return array
        found = f"NaN or infinite numbers, first for number {bad[0]},"
    raise EmbedderError(
        f"{source} gave {found} where {(n, dim)} was expected: for each of {n} text(s) a "
        f"row of dim={dim} finite numbers, zeros for a text that says nothing. Check "
        "that it is an embedding model, in a plain function that is not async."
    )


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Float32 rows of length 1; a row of zeros stays one."""
    wide = vectors.astype(np.float64)  # squares of large float32 would overflow
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, lengths, out=wide, where=lengths > 0).astype(np.float32)


def is_latin(text: str) -> bool:
    """True for a text of which at least half of the letters are Latin.

    English models have vectors for the signs of other scripts, too, which mean nothing.
    """
    if text.isascii():
        return bool(text.strip())
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(
        letter < "\u0250" or "\u1e00" <= letter < "\u1f00" for letter in letters
    )
    return 2 * latin >= len(letters) and bool(text.strip())


def around_blanks(
    texts: list[str],
    embed: Callable[[list[str]], np.ndarray],
    dim: Callable[[], int],
    says: Callable[[str], Any] = str.strip,
) -> np.ndarray:
    """Embeds the texts that say something; rows of zeros for the others.

    A transformer has a vector for an empty text, too, which is near to every short one;
    providers refuse it.

    Args:
        texts: clean texts.
        embed: gives a row for each of the texts it gets.
        dim: asked only after ``embed``, or if there is nothing to embed.
        says: true for a text that says something to the model.
    """
    spoken = [i for i, text in enumerate(texts) if says(text)]
    if spoken and len(spoken) == len(texts):
        return embed(texts)
    rows = embed([texts[i] for i in spoken]) if spoken else None
    result = np.zeros((len(texts), dim()), dtype=np.float32)
    if rows is not None:
        result[spoken] = rows
    return result
