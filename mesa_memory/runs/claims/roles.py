"""The parts of names in a sentence: "Agent 5 cheated Agent 1" is not its reverse."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from mesa_memory.runs.claims.mentions import (
    BY,
    DEED_LAST,
    DETERMINERS,
    JOINING,
    Token,
    is_name,
    label,
)


class NameMention(NamedTuple):
    """A name in a sentence, with its number if it has one.

    Attributes:
        start, end: places of its first token, and after its last.
        name: a word, or of "Agent 5" the root of the first.
        number: ``"5"``; empty without one.
    """

    start: int
    end: int
    name: str
    number: str

    @property
    def key(self) -> tuple[str, str]:
        """The same for all mentions of one name."""
        return self.name, self.number


def mentions(said: Sequence[Token]) -> list[NameMention]:
    """The names in a sentence, in order; both of "Agents 1 and 5" have a number."""
    names = [n for n in range(len(said)) if is_name(said, n)]
    labels = {said[n].root for n in names if said[n + 1 : n + 2] and said[n + 1].number}
    found = []
    for n, token in enumerate(said):
        if token.number and (root := label(said, n)) in labels:
            start = n - 1 if n and said[n - 1].root == root else n
            found.append(NameMention(start, n + 1, root, token.number))
        elif n in names and token.root not in labels:
            found.append(NameMention(n, n + 1, token.word, ""))
    return found


class Roles:
    """The names of a text in order.

    Args:
        said: the text.
        content: roots of the words that say something of the names.
    """

    def __init__(self, said: Sequence[Token], content: Collection[str]) -> None:
        self._content = frozenset(content)
        own = mentions(said)
        self._keys = list(dict.fromkeys(each.key for each in own))
        self._passive = _is_passive(said, own)
        # German writes its nouns with a capital; they are not names.
        self._noun_capitals = any(
            token.capital and before.word in DETERMINERS
            for before, token in pairwise(said)
        )
        gap = said[own[0].end : own[1].start] if len(own) > 1 else ()
        self._ordered = any(token.word not in JOINING for token in gap)
        self._first = bool(own) and own[0].start < self._deed(said)

    def others(self, said: Sequence[Token]) -> bool:
        """True if a sentence has names besides those of the text; without one, never."""
        if not self._keys:
            return False
        labels = {name for name, number in self._keys if number}
        return any(
            each.name in labels or (each.start > 0 and not self._noun_capitals)
            for each in mentions(said)
            if each.key not in self._keys
        )

    def agree(self, said: Sequence[Token]) -> bool:
        """True if the names of the text have the same parts in a sentence.

        "By" turns the order of names around: "Agent 1 was cheated by Agent 5".
        """
        found = mentions(said)
        own = [each for each in found if each.key in self._keys]
        turned = _is_passive(said, found) != self._passive
        if self._ordered:
            order = list(dict.fromkeys(self._keys.index(each.key) for each in own))
            return order == sorted(order, reverse=turned)
        if not self._first or not self.others(said):
            return True
        if turned:
            return any(_is_passive(said, [each]) for each in own)
        before = [each for each in found if each.end <= self._deed(said)]
        verb = next((n for n, t in enumerate(said) if t.word in DEED_LAST), len(said))
        doers = _joined(said, [each for each in before if each.end <= verb] or before)
        return not doers or self._keys[0] in [each.key for each in doers]

    def _deed(self, said: Sequence[Token]) -> int:
        """The place of the first word that says something of the names."""
        places = (n for n, token in enumerate(said) if token.root in self._content)
        return next(places, len(said))


def _is_passive(said: Sequence[Token], found: Sequence[NameMention]) -> bool:
    return any(m.start and said[m.start - 1].word in BY for m in found)


def _joined(
    said: Sequence[Token], found: Sequence[NameMention]
) -> Sequence[NameMention]:
    """The last mention, and the mentions that "and" joins to it."""
    for n in range(len(found) - 1, 0, -1):
        gap = said[found[n - 1].end : found[n].start]
        if not gap or any(token.word not in JOINING for token in gap):
            return found[n:]
    return found
