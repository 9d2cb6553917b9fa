"""The speakers of an agent's records, by the names that a query would use.

In a dialogue of two, turns lean on each other, and a name is mostly a word of address.
In a crowd, a remark stands beside another by chance, and a named person is spoken of.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.core.text.naming import folded
from mesa_memory.core.text.vocabulary import spans, words

#: no speaker has a number as high as this
NO_SPEAKER = np.iinfo(np.int32).max


@lru_cache(maxsize=10_000)
def _name(who: str) -> str:
    return " ".join(words(who))


class Speakers:
    """Numbers speakers in order of arrival; 0 stands for none."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {"": 0}
        self._bearers: dict[str, list[int]] = {}  # of a name or alias
        # First word of a name -> how many words such names have; ordered, unlike a set.
        self._starts: dict[str, dict[int, None]] = {}
        self._foreign: list[str] = []
        self._names: list[list[str]] = [[""]]  # of each speaker, the first by its id

    def code(self, who: Any, alias: str = "") -> int:
        """The number of a speaker; 0 for None and for a name without words.

        Args:
            alias: another name of the same speaker; several may have it.
        """
        name = "" if who is None else _name(str(who))
        code = self._codes.get(name)
        if code is None:
            code = self._codes[name] = len(self._codes)
            self._names.append([])
            self._call(code, name)
        if alias and code and (other := _name(alias)) not in ("", *self._names[code]):
            self._call(code, other)
        return code

    def _call(self, code: int, name: str) -> None:
        self._names[code].append(name)
        bearers = self._bearers.setdefault(name, [])
        bearers.append(code)
        if len(bearers) > 1:
            return
        if name.isascii():
            first, *others = name.split(" ")
            self._starts.setdefault(first, {})[1 + len(others)] = None
        else:
            self._foreign.append(name)

    def names(self, code: int) -> list[list[str]]:
        """The words of each of a speaker's names."""
        return [name.split(" ") for name in self._names[code]]

    def named_in(self, said: Sequence[str]) -> list[int]:
        """The numbers of those whom the words of a text name, each once."""
        found: dict[str, None] = {}
        for at, word in enumerate(said):
            for length in self._starts.get(word, ()):
                name = " ".join(said[at : at + length])
                if name in self._bearers:
                    found[name] = None
        if self._foreign:
            # Scripts outside ASCII may write a name and the next word as one.
            whole = " ".join(said)
            found |= {name: None for name in self._foreign if name in whole}
        codes = [code for name in found for code in self._bearers[name]]
        return list(dict.fromkeys(codes))

    def without(self, text: str, codes: Iterable[int]) -> str:
        """A text without the names of these speakers; as it is if nothing is left."""
        left = text
        for code in codes:
            for name in self._names[code]:
                left = _without(left, name)
        return left if words(left) else text


def _without(text: str, name: str) -> str:
    """Without a name, given by its words in small letters."""
    if not name.isascii():  # may be part of a word
        text = unicodedata.normalize("NFKC", text)
        return re.sub(re.escape(name), " ", text, flags=re.IGNORECASE).strip()
    found, kept, end = spans(text), [], 0
    said = [folded(text[start:stop]) for start, stop in found]
    length = name.count(" ") + 1
    for at in range(len(said) - length + 1):
        start, stop = found[at][0], found[at + length - 1][1]
        if start >= end and " ".join(said[at : at + length]) == name:
            kept.append(text[end:start])
            end = stop
    return " ".join(" ".join([*kept, text[end:]]).split())


class DialogueContext(NamedTuple):
    """Records in order of arrival, as runs of the ones that have the same place.

    Attributes:
        run: for each record, the number of its run, shape (n,), ascending.
        crowd: for each run, whether more than two speak in it.
        joined: for each record but the first, 1 if it belongs to the one before: both
            are in one run that is not a crowd; else 0. Shape (n - 1,), float32; None if
            none does.
    """

    run: np.ndarray
    crowd: np.ndarray
    joined: np.ndarray | None

    @classmethod
    def of(cls, places: np.ndarray, who: np.ndarray) -> "DialogueContext":
        """From the place and the speaker's number of each record; 0 stands for none."""
        first = np.ones(len(places), dtype=bool)
        np.not_equal(places[1:], places[:-1], out=first[1:])
        starts, run = first.nonzero()[0], first.cumsum() - 1
        high = np.maximum.reduceat(who, starts)
        low = np.minimum.reduceat(np.where(who > 0, who, NO_SPEAKER), starts)
        # More than two speak if somebody's number lies between two others.
        between = (who > low[run]) & (who < high[run])
        crowd = np.logical_or.reduceat(between, starts)
        joined = ~(first | crowd[run])[1:]
        return cls(run, crowd, joined.astype(np.float32) if joined.any() else None)

    def named(self, speaks: np.ndarray, mentions: np.ndarray) -> np.ndarray:
        """Positions of the records by or about a speaker whom the query names.

        Args:
            speaks, mentions: for each record, whether it is theirs, and whether their
                name is in it. In a dialogue of theirs it is an address and does not
                count.

        Returns:
            Positions, ascending.
        """
        theirs = np.zeros(len(self.crowd), dtype=bool)
        theirs[self.run[speaks]] = True
        addressed = (theirs & ~self.crowd)[self.run]
        return (speaks | (mentions & ~addressed)).nonzero()[0]
