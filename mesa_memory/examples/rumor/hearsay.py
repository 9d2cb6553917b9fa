"""What a memory's text says about the well: an honest reader of plain text.

It knows nothing but the text: neither who was told what, nor which memory wrote it.
"""

import re
from dataclasses import dataclass

RUMOUR, CORRECTION = "rumour", "correction"
#: how the two are put into words
SAYINGS = {
    RUMOUR: "the town well is poisoned and its water makes people sick",
    CORRECTION: "the town well was tested and its water is safe to drink",
}

_STEP = re.compile(r"Step (\d+(?:\.\d+)?):")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_TELLER = re.compile(r"Agent (\S+) says:")
_DAY = re.compile(r"\bday (\d+)")
_TOPIC = re.compile(r"\b(well|water)\b", re.IGNORECASE)
_BAD = re.compile(r"\b(poison\w*|contaminat\w*|sick\w*|unsafe)\b", re.IGNORECASE)
_GOOD = re.compile(
    r"\b(not|never|false|untrue|safe|clean|harmless)\b|n't\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Mention:
    """One sentence of a memory that speaks of the well.

    Attributes:
        what: ``RUMOUR`` or ``CORRECTION``.
        step: when it was remembered for, 0 if the text does not say.
        day: the day of the news itself, as the sentence gives it; None without one.
        teller: who said it, as far as the text says.
        line: the words it was read from.
    """

    what: str
    step: float
    day: int | None
    teller: str | None
    line: str


def mentions(text: str) -> list[Mention]:
    """All mentions in a memory's text, in the order of the text."""
    found: list[Mention] = []
    step = 0.0
    for line in text.splitlines():
        pieces = _STEP.split(line)
        if pieces[0] and not pieces[0].startswith("- "):
            step = 0.0  # a heading or prose: the step above does not hold for it
        found += _in_piece(pieces[0], step)
        for number, piece in zip(pieces[1::2], pieces[2::2], strict=True):
            step = float(number)
            found += _in_piece(piece, step)
    return found


def _in_piece(piece: str, step: float) -> list[Mention]:
    said = _TELLER.search(piece)
    teller = said[1] if said else None
    found = []
    for sentence in _SENTENCE_END.split(piece):
        what = _what(sentence)
        if what:
            day = _DAY.search(sentence)
            number = int(day[1]) if day else None
            found.append(Mention(what, step, number, teller, sentence.strip(" -•")))
    return found


def _what(sentence: str) -> str | None:
    if not _TOPIC.search(sentence):
        return None
    if _GOOD.search(sentence):
        return CORRECTION
    return RUMOUR if _BAD.search(sentence) else None


@dataclass(frozen=True)
class Opinion:
    """What someone with this memory knows and believes.

    Attributes:
        mentions: all that the memory says about the well.
    """

    mentions: tuple[Mention, ...] = ()

    @classmethod
    def read(cls, text: str) -> "Opinion":
        """The opinion of a reader of ``text``."""
        return cls(tuple(mentions(text)))

    def knows(self, what: str) -> bool:
        """True if the memory mentions it at all."""
        return any(mention.what == what for mention in self.mentions)

    @property
    def grounds(self) -> Mention | None:
        """The mention that decides: the newest; among equals the last in the text."""
        newest = max((m.step for m in self.mentions), default=0.0)
        last = [m for m in self.mentions if m.step == newest]
        return last[-1] if last else None

    @property
    def belief(self) -> str | None:
        """``RUMOUR``, ``CORRECTION``, or None if the memory says nothing about it."""
        return self.grounds.what if self.grounds else None
