"""The speakers of an agent's records, by the names that a query would use."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mesa_memory.core.text.naming import folded
from mesa_memory.core.text.vocabulary import spans, words


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

    def without(self, text: str, codes: Sequence[int]) -> str:
        """A text without the names of these speakers; as it is if nothing is left."""
        if not codes:
            return text
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
