"""Compares texts by the words they share."""

import re

from mesa_memory.retrieval.stop_words import STOP_WORDS
from mesa_memory.tasks.offline.terms import Terms, letters, plain_words, stem

#: words of a line's form, which tell nothing of its contents
FORM_WORDS = frozenset(
    ["step", "says", "agent", "message", "observation", "action", "reflection"]
)
_STEP = re.compile(r"^step \S+: ", re.IGNORECASE | re.MULTILINE)


def stems(text: str) -> set[str]:
    """The beginnings of the words of a text; function words only without others."""
    words = plain_words(_STEP.sub("", text))
    telling = {stem(w) for w in words if w not in STOP_WORDS and w not in FORM_WORDS}
    return telling or set(words)


def share(phrase: str, text: str) -> float:
    """The share of a phrase's words that a text contains, from 0 to 1.

    Words are compared by their beginnings, in Latin letters.
    """
    words, there = stems(phrase), stems(text)
    # A script without spaces has no words: its sounds are looked for as they stand.
    sound = "" if phrase.isascii() else letters(text)
    found = [word for word in words if word in there or word in sound]
    return len(found) / len(words) if words else 0.0


def supports(line: str, text: str) -> bool:
    """True if a line shares a word with a text, or if the two cannot be compared.

    Texts of different languages cannot be compared, and texts without words.
    """
    if Terms.of(line).language != Terms.of(text).language:
        return True
    return not stems(line) or not stems(text) or share(text, line) > 0
