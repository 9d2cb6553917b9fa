"""Groups of sentences with the same words, for any speaker and step."""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: who speaks and when, before what is said; a summary may name several
_FRAME = re.compile(
    r"^\W*(?:Step [\d.]+:\s*|(?:Agent )?[^\s:][^:]{0,40}? says(?: to [^:]{1,60})?:\s*)+"
)
_DIGITS = re.compile(r"\d+")

#: whether a group counts, as somebody has ticked it: key of the group -> True or False
type Ticks = Mapping[str, bool]


@dataclass(frozen=True)
class Groups:
    """Groups of sentences with the same words.

    Attributes:
        names: what each group says, in order of arrival; a number in it is ``#``.
        keys: short names of the groups, the same in every process.
        of_piece: shape (pieces,), the group of each sentence.
    """

    names: list[str]
    keys: list[str]
    of_piece: np.ndarray


def grouped(pieces: Sequence[str]) -> Groups:
    """The groups of sentences."""
    places: dict[str, int] = {}
    of_piece = [places.setdefault(said(piece), len(places)) for piece in pieces]
    names = list(places)
    keys = [f"{zlib.crc32(name.encode()):08x}" for name in names]
    return Groups(names, keys, np.array(of_piece, dtype=np.int64))


def said(piece: str) -> str:
    """The words of a sentence, without speaker, step and numbers."""
    bare = _FRAME.sub("", piece).strip(" -•")
    return _DIGITS.sub("#", bare) or piece


def written(ticks: Ticks) -> str:
    """Ticks as they stand in an address: ``+key`` counts, ``-key`` does not."""
    return "".join(f"{'+' if on else '-'}{key}" for key, on in sorted(ticks.items()))


def read(text: str) -> dict[str, bool]:
    """Ticks from an address; anything else in it is left out."""
    return {m[2]: m[1] == "+" for m in re.finditer(r"([+-])([0-9a-f]{8})", text)}
