"""Measures how much of a phrase a text contains."""

from mesa_memory.core.stop_words import STOP_WORDS
from mesa_memory.tasks.terms import Terms, plain_words, stem


def share(phrase: str, text: str) -> float:
    """The share of a phrase's words that a text contains, from 0 to 1.

    Words are compared by their beginnings, and names by their sound in Latin letters.
    Function words count only in a phrase that has no others.
    """
    wanted, there = Terms.of(phrase), Terms.of(text)
    if len(wanted):
        names, others = there.shared(wanted)
        return min(1.0, (len(names) + len(others)) / len(wanted))
    words = stems(phrase)
    return len(words & stems(text)) / len(words) if words else 0.0


def stems(text: str) -> set[str]:
    """The beginnings of the words of a text, without function words if it has others."""
    words = plain_words(text)
    return {stem(word) for word in words if word not in STOP_WORDS} or set(words)
