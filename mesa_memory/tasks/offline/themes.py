"""Reflection without a language model: recurring themes, and their records.

A theme is a word that several statements share. Questions ask about the themes, and an
insight has the number of a theme's statements and the last one, with exactly those
statements as its evidence.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from mesa_memory.core.render import step_pattern
from mesa_memory.core.text.naming import folded
from mesa_memory.core.text.vocabulary import vocabulary, words
from mesa_memory.core.wording import ENGLISH, Wording
from mesa_memory.tasks.grounding import FORM_WORDS
from mesa_memory.tasks.offline.remembered import repetition

_TAG = re.compile(r"\{[{%].*?[%}]\}")
_WORD = re.compile(r"[^\W_]+")


def answer(question: str, lines: Sequence[str], wording: Wording) -> str | None:
    """The line that shares the most words with the question; None if none shares one.

    Of equally good lines the last.
    """
    asked = set(_content(question, wording))
    shared = [len(asked.intersection(_content(line, wording))) for line in lines]
    best = max(shared, default=0)
    if not best:
        return None
    last = len(shared) - 1 - shared[::-1].index(best)
    return lines[last].removeprefix("- ")


def asked_first(found: Iterable[str], question: str | None) -> list[str]:
    """Themes: first those named by a question, otherwise in their order."""
    asked = set(words(question or ""))
    return sorted(found, key=lambda theme: theme.casefold() not in asked)


def themes(lines: Sequence[str], wording: Wording = ENGLISH) -> dict[str, list[int]]:
    """Words and the positions of the lines they are in, the most common first.

    Single statements are themes only if nothing comes up twice.
    """
    places: dict[str, list[int]] = {}
    for position, line in enumerate(lines):
        for word in dict.fromkeys(_content(line, wording)):
            places.setdefault(word, []).append(position)
    shared = {word: found for word, found in places.items() if len(found) > 1}
    # Not a word, as in a line of numbers: the newest statement is the theme.
    chosen = shared or places or {"…": [len(lines) - 1]}
    # Words always met together are one theme.
    first: dict[tuple[int, ...], str] = {}
    for word, found in chosen.items():
        first.setdefault(tuple(found), word)
    ranked = sorted(first, key=lambda found: (-len(found), found))
    return {_spelled(first[found], lines): list(found) for found in ranked}


def _content(line: str, wording: Wording) -> Iterable[str]:
    told = vocabulary(wording.language)
    # When something was, and how often, is no theme.
    line = re.sub(f"^{step_pattern('at step', wording)}", "", line)
    line = repetition(wording).sub(" ", line)
    least, form = 3 if told.spaced else 1, _form_words(wording)
    return (
        word
        for word in words(line)
        if len(word) >= least and word not in told.stop_words and word not in form
    )


def _spelled(word: str, lines: Sequence[str]) -> str:
    """A word as it is written in the lines: a name with its capital letter."""
    return next(
        (w for line in lines for w in _WORD.findall(line) if folded(w) == word), word
    )


@lru_cache(maxsize=20)
def _form_words(wording: Wording) -> frozenset[str]:
    """The words in which events are told: a line's form, not its contents."""
    parts = [*wording.files["events"].parts.values()]
    parts.append(wording.files["memory"].parts["step"])
    told = (word for part in parts for word in words(_TAG.sub(" ", part)))
    return FORM_WORDS.union(told)
