"""BM25 over one agent's own records: add and remove without a rebuild.

Robertson & Zaragoza 2009: the sum over the query's terms of
``idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length))`` with
``idf = ln(1 + (n - df + 0.5) / (df + 0.5))``. Names and numbers are kept, words are
lower-cased and stemmed (Snowball), function words are left out.
"""

import math
import re
from array import array
from collections import Counter
from functools import lru_cache

import numpy as np
import Stemmer

#: within two points of the best anywhere in k1 0.9-1.5 and b 0.4-0.75
K1, B = 1.2, 0.75

_FUNCTION_WORDS = """
a about above after again all am an and any are as at be because been before being
below between both but by can could did do does doing down during each few for from
further had has have having he her here hers him his how i if in into is it its itself
just me more most my no nor not now of off on once only or other our out over own s
same say says she should so some such t than that the their them then there these they
this those through to too under until up very was we were what when where which while
who whom why will with would you your
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_stemmer = Stemmer.Stemmer("english")


@lru_cache(maxsize=100_000)
def _terms_of(word: str) -> tuple[str, ...]:
    """The stem of a word; nothing for a function word.

    A word outside ASCII may be a sentence in a script without spaces: it also counts
    by its pairs of characters.
    """
    if word in STOP_WORDS:
        return ()
    if word.isascii():
        return (_stemmer.stemWord(word),)
    pairs = [word[i : i + 2] for i in range(len(word) - 1)]
    return (word, *pairs) if len(word) > 2 else (word,)


def words(text: str) -> list[str]:
    """The words and numbers in ``text``, lower-cased, in order."""
    return _WORD.findall(text.lower())


def terms(text: str) -> list[str]:
    """The terms of the words and numbers in ``text``, in order."""
    found: list[str] = []
    for word in words(text):
        found.extend(_terms_of(word))
    return found


class LexicalIndex:
    """Documents numbered 0, 1, 2, … in order of arrival, some of them removed."""

    def __init__(self) -> None:
        self._postings: dict[str, tuple[array, array]] = {}
        self._frequency: Counter[str] = Counter()  # living documents with a term
        self._documents: list[tuple[str, ...] | None] = []  # distinct terms of each
        self._lengths = array("f")
        self._alive = array("b")
        self._total = 0.0
        self._living = 0

    def __len__(self) -> int:
        """How many documents are not removed."""
        return self._living

    def add(self, text: str) -> int:
        """Appends a document; returns its number."""
        number = len(self._documents)
        counted = Counter(terms(text))
        for term, count in counted.items():
            posting = self._postings.get(term)
            if posting is None:
                posting = self._postings[term] = (array("i"), array("f"))
            posting[0].append(number)
            posting[1].append(count)
            self._frequency[term] += 1
        length = sum(counted.values())
        self._documents.append(tuple(counted))
        self._lengths.append(length)
        self._alive.append(1)
        self._total += length
        self._living += 1
        return number

    def remove(self, number: int) -> None:
        """Takes a document out; its score is 0 from now on.

        Raises:
            IndexError: if there never was such a document.
        """
        known = self._documents[number]
        if known is None:
            return
        self._documents[number] = None
        self._alive[number] = 0
        self._frequency.subtract(known)
        self._total -= self._lengths[number]
        self._living -= 1

    def scores(self, query: str) -> np.ndarray:
        """BM25 of each document, shape (n,); 0 without a common term."""
        scored = np.zeros(len(self._documents), dtype=np.float32)
        if not self._living:
            return scored
        mean = self._total / self._living or 1.0
        all_lengths = np.frombuffer(self._lengths, dtype=np.single)
        for term in dict.fromkeys(terms(query)):
            posting, frequency = self._postings.get(term), self._frequency[term]
            if posting is None or frequency <= 0:
                continue
            rarity = 1 + (self._living - frequency + 0.5) / (frequency + 0.5)
            numbers = np.frombuffer(posting[0], dtype=np.intc)
            counts = np.frombuffer(posting[1], dtype=np.single)
            damped = counts + K1 * (1 - B + B / mean * all_lengths[numbers])
            scored[numbers] += math.log(rarity) * (K1 + 1) * counts / damped
        if self._living < len(self._documents):
            scored *= np.frombuffer(self._alive, dtype=np.int8)
        return scored

    def compact(self) -> np.ndarray:
        """Forgets removed documents and numbers the others anew, in the same order.

        Returns:
            The old number of each that is left.
        """
        alive = np.array(self._alive, dtype=bool)
        kept = np.flatnonzero(alive)
        renumbered = np.cumsum(alive) - 1
        postings = {}
        for term, (numbers, counts) in self._postings.items():
            held = np.array(numbers, dtype=np.intp)
            stay = alive[held]
            if stay.any():
                left = renumbered[held[stay]].tolist()
                postings[term] = (
                    array("i", left),
                    array("f", np.array(counts)[stay].tolist()),
                )
        self._postings = postings
        self._frequency = Counter({t: len(p[0]) for t, p in postings.items()})
        self._documents = [self._documents[number] for number in kept]
        self._lengths = array("f", np.array(self._lengths)[kept].tolist())
        self._alive = array("b", [1] * len(kept))
        return kept
