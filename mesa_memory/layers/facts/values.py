"""Compares how much two values say."""

from mesa_memory.core.text.vocabulary import Vocabulary, words


def includes(one: str, other: str, vocabulary: Vocabulary) -> bool:
    """True if one of two values only says less than the other.

    Its words are among those of the other; both deny as often, and a number that only one
    of them has is another value.
    """
    if _denials(one, vocabulary) != _denials(other, vocabulary):
        return False
    less, more = sorted((one, other), key=lambda text: extent(text, vocabulary))
    numbers = _numbers(less)
    if numbers and numbers != _numbers(more):
        return False
    said = _terms(less, vocabulary)
    return bool(said) and said <= _terms(more, vocabulary)


def extent(value: str, vocabulary: Vocabulary) -> tuple[int, int]:
    """A key that is higher for a value that says more: its numbers, then its words."""
    return len(_numbers(value)), len(_terms(value, vocabulary))


def _terms(value: str, vocabulary: Vocabulary) -> set[str]:
    found = vocabulary.terms(value)
    # Without spaces, a run of signs is compared by its pairs.
    return {term for term in found if vocabulary.spaced or len(term) <= 2}


def _numbers(value: str) -> set[str]:
    return {word for word in words(value) if word[0].isdecimal()}


def _denials(value: str, vocabulary: Vocabulary) -> int:
    return vocabulary.count(vocabulary.negations, words(value))
