"""The sentences of a memory about the well, as an honest reader finds them.

The reader knows the text and nothing else, not even the class of the memory. It looks for words, so an unusual paraphrase can escape it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

RUMOUR, CORRECTION = "rumour", "correction"
#: the belief of one who takes it for true
BELIEFS = {RUMOUR: "the well is poisoned", CORRECTION: "the well is safe"}
#: the words in which the two come to town
SAYINGS = {
    RUMOUR: "the town well is a danger, it is poisoned and its water makes people sick",
    CORRECTION: "the town well was tested, its water is safe and the tale of poison is "
    "false",
}

_STEP = re.compile(r"Step \d+(?:\.\d+)?:")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# "Agent 2 to you: …", and of what was said several times "Agent 2 and you, 3 times, …: …"
_TELLER = re.compile(r"([\w ,]*?)(?: says| to [^:]+|, \d+ times, [^:]+):")
_TELLERS = re.compile(r"(?:Agent )?(\w+)(?:, | and |$)")
_NAMED = re.compile(r"Agent (\w+)")
_DAY = re.compile(r"\bday (\d+)", re.IGNORECASE)
# "Well, …" begins many a sentence that is not about the well.
_WELL = re.compile(r"\b(?:the|our|this|that|town|village) well\b", re.IGNORECASE)
_POISON = re.compile(r"\b(?:poison|contaminat)\w*", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:safe|clean|harmless|false|untrue|not|never|no longer)\b|n['’]t\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Mention:
    """One sentence of a memory that speaks of the well.

    Attributes:
        what: ``RUMOUR`` or ``CORRECTION``.
        day: the day of the news, if the sentence names one.
        tellers: who said it, as far as the text says; ``You`` is the reader.
    """

    what: str
    day: int | None
    tellers: frozenset[str]


def mentions(text: str) -> list[Mention]:
    """All mentions in a memory's text, in the order of the text."""
    pieces = [piece for line in text.splitlines() for piece in _STEP.split(line)]
    return [found for piece in pieces for found in _in_piece(piece)]


def _in_piece(piece: str) -> Iterator[Mention]:
    """The mentions in what one person said, or in another part of a line."""
    said = _TELLER.search(piece)
    for sentence in _SENTENCE_END.split(piece):
        if what := _what(sentence):
            day = _DAY.search(sentence)
            told = _TELLERS.findall(said[1]) if said else _NAMED.findall(sentence)
            yield Mention(what, int(day[1]) if day else None, frozenset(told))


def _what(sentence: str) -> str | None:
    poison = _POISON.search(sentence)
    if (poison or _WELL.search(sentence)) and _DENIAL.search(sentence):
        return CORRECTION
    return RUMOUR if poison else None
