"""Reflection without a language model: recurring themes, and their records.

A theme is a word that several statements share. Questions ask about the themes, and an
insight has the number of a theme's statements and the last one, with exactly those
statements as its evidence.
"""

from collections.abc import Iterable, Sequence

from mesa_memory.core.content import words
from mesa_memory.retrieval.stop_words import STOP_WORDS
from mesa_memory.tasks.offline.terms import FORM_WORDS


def answer(question: str, lines: Sequence[str]) -> str | None:
    """The line that shares the most words with the question; None if none shares one.

    Of equally good lines the last.
    """
    asked = set(_content(question))
    shared = [len(asked.intersection(_content(line))) for line in lines]
    best = max(shared, default=0)
    if not best:
        return None
    last = len(shared) - 1 - shared[::-1].index(best)
    return lines[last].removeprefix("- ")


def asked_first(found: Iterable[str], question: str | None) -> list[str]:
    """Themes: first those named by a question, otherwise in their order."""
    asked = set(words(question or ""))
    return sorted(found, key=lambda theme: theme not in asked)


def themes(lines: Sequence[str]) -> dict[str, list[int]]:
    """Words and the positions of the lines they are in, the most common first.

    Single statements are themes only if nothing comes up twice.
    """
    places: dict[str, list[int]] = {}
    for position, line in enumerate(lines):
        for word in dict.fromkeys(_content(line)):
            places.setdefault(word, []).append(position)
    shared = {word: found for word, found in places.items() if len(found) > 1}
    # Not a word, as in a line of numbers: the newest statement is the theme.
    chosen = shared or places or {"something": [len(lines) - 1]}
    # Words always met together are one theme.
    first: dict[tuple[int, ...], str] = {}
    for word, found in chosen.items():
        first.setdefault(tuple(found), word)
    ranked = sorted(first, key=lambda found: (-len(found), found))
    return {first[found]: list(found) for found in ranked}


def _content(line: str) -> Iterable[str]:
    return (
        word
        for word in words(line)
        if len(word) > 2 and word not in STOP_WORDS and word not in FORM_WORDS
    )
