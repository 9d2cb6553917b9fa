"""Reads a query: the time that it asks about, and the speakers that it names.

The cues of time are those of the agent's language, see ``Vocabulary``; in English:

- *Step*: ``step 40``, with ``at``, ``in``, ``around``, ``by``, ``on`` or ``during``
  before it or without. Not ``after``, ``since`` or ``from step 40``, and not if several
  steps are named.
- *Present*: ``now``, ``today``, ``currently``, ``these days``, ``at the moment``, ….
- *Before*, if no step is named: ``Where did she live before the mill?``, ``until the
  mill``, ``Before the mill, where did she live?``. ``before step 40`` names the step.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from mesa_memory.core.text.naming import folded
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, Vocabulary, spans, words

#: longer texts are read each time they come and not kept in the cache
CACHED_QUERY_CHARS = 1000


class TimeConstraint(NamedTuple):
    """A question, read for time.

    Attributes:
        body: the question without its words of time, to be embedded; the whole question
            if nothing else is left.
        said: the words and numbers of the question, but those of ``before``.
        step: what it asks for is what was so at this step; None if no step is named.
        present: whether it asks for what is so now.
        before: the words for the end of the requested time; empty without any.
    """

    body: str
    said: tuple[str, ...]
    step: float | None = None
    present: bool = False
    before: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: str, known: Vocabulary = ENGLISH_WORDS) -> "TimeConstraint":
        """The cues of a question; the same object for the same text."""
        read = _read if len(query) > CACHED_QUERY_CHARS else _read_before
        return read(query, known)

    @classmethod
    def none(cls, query: str, known: Vocabulary = ENGLISH_WORDS) -> "TimeConstraint":
        """The question taken as it is."""
        return cls(query, tuple(words(query)))


def _read(query: str, known: Vocabulary) -> TimeConstraint:
    main, ended = _split(query, known)
    step, limit = _step(query, known), _step(ended, known)
    if limit is not None:
        # At the latest time before that step: a model's clock may count in fractions.
        step, ended = math.nextafter(limit, -math.inf), ""
    elif step is not None:
        main, ended = query, ""
    body = main if step is None else known.step.sub(" ", main)
    body = " ".join(known.now.sub(" ", body).split())
    return TimeConstraint(
        body if words(body) else query,
        tuple(words(main)),
        step,
        bool(known.now.search(main)),
        tuple(words(ended)),
    )


_read_before = lru_cache(maxsize=1000)(_read)


def _split(query: str, known: Vocabulary) -> tuple[str, str]:
    """The question, and the event that ended the time in question."""
    found = known.before.search(query)
    if not found:
        return query, ""
    parts = query[: found.start()], query[found.end() :]
    ended, main = parts if known.event_first else parts[::-1]
    if not known.terms(main):  # Before this, what was that?
        ended, _, main = ended.partition(",")
    whole = known.terms(main) and known.terms(ended)
    return (main, ended) if whole else (query, "")


def _step(text: str, known: Vocabulary) -> float | None:
    named = known.step.findall(text)
    only = len(named) == 1 == len(known.steps.findall(text))
    return float(named[0]) if only else None


# -- speakers --------------------------------------------------------------------------


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
