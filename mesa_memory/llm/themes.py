"""Reflection without a language model: what comes up again and again, and where.

A theme is a word that several statements share. Questions ask about the themes, and an
insight says how often a theme came up and what was said of it last, with exactly those
statements as its evidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mesa_memory.importance import words
from mesa_memory.lexical import STOP_WORDS
from mesa_memory.render import shorten

#: words of the form of a statement, not of what it says
_FORM = frozenset(
    ["step", "says", "agent", "message", "observation", "action", "reflection"]
)


def questions(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """One question for each of the ``count`` most common themes of ``lines``."""
    found = list(_themes(inputs["lines"]))[: inputs["count"]]
    return {"questions": [f"What is known about {theme}?" for theme in found]}


def reflect(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """An insight for each of the ``count`` most common themes, those asked for first.

    Takes ``lines`` and the ``question``, or None.
    """
    lines = inputs["lines"]
    themes = _themes(lines)
    asked = set(words(inputs["question"] or ""))
    order = sorted(themes, key=lambda theme: theme not in asked)
    return {
        "insights": [
            {"insight": _insight(theme, lines, themes[theme]), "evidence": evidence}
            for theme in order[: inputs["count"]]
            for evidence in [[position + 1 for position in themes[theme]]]
        ]
    }


def answer(inputs: Mapping[str, Any]) -> str:
    """The line of the memory that shares the most words with the question.

    Takes ``lines`` and the ``question``; of equally good lines the last.
    """
    asked = set(_content(inputs["question"]))
    shared = [len(asked.intersection(_content(line))) for line in inputs["lines"]]
    best = max(shared, default=0)
    if not best:
        return "I do not know."
    last = len(shared) - 1 - shared[::-1].index(best)
    return inputs["lines"][last].removeprefix("- ")


def _insight(theme: str, lines: Sequence[str], places: Sequence[int]) -> str:
    last = shorten(lines[places[-1]], 160)
    return f"{theme} came up {len(places)} times, last: {last}"


def _themes(lines: Sequence[str]) -> dict[str, list[int]]:
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
        if len(word) > 2 and word not in STOP_WORDS and word not in _FORM
    )
