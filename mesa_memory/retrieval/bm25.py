"""BM25 over one agent's own records: add and remove without a rebuild.

Robertson & Zaragoza 2009: the sum over the query's terms of
``idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length))`` with
``idf = ln(1 + (n - df + 0.5) / (df + 0.5))``. Names and numbers are kept, words are
lower-cased and stemmed (Snowball), function words are left out; see ``Vocabulary``.
"""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

import numpy as np

from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, Vocabulary

#: within two points of the best anywhere in k1 0.9-1.5 and b 0.4-0.75
K1, B = 1.2, 0.75


def _phrase(name: Sequence[str], known: Vocabulary) -> tuple[str, ...]:
    """The terms of a name, as they follow each other in a text."""
    found: list[str] = []
    for word in name:
        parts = known.stems(word)
        if not parts:
            return ()
        # In a script without spaces the name may be part of a longer word.
        found += parts[1:] or parts
    return tuple(found)


def _stands(phrase: tuple[str, ...], document: tuple[str, ...] | None) -> bool:
    """True if the terms follow each other in a document."""
    if document is None:
        return False
    if len(phrase) == 1:
        return True
    last = len(document) - len(phrase)
    starts = (at for at in range(last + 1) if document[at] == phrase[0])
    return any(document[at : at + len(phrase)] == phrase for at in starts)


class LexicalIndex:
    """Documents numbered 0, 1, 2, … in order of arrival, some of them removed.

    Texts of any length are taken whole; the time grows with their length: at most
    some 0.1 s for 100 kB.

    Attributes:
        vocabulary: the words of the texts' language.
    """

    def __init__(self, vocabulary: Vocabulary = ENGLISH_WORDS) -> None:
        self.vocabulary = vocabulary
        # For each term, the documents that have it and how often, in order of arrival.
        self._postings: dict[str, tuple[array, array]] = {}
        self._gone: Counter[str] = Counter()  # removed documents with a term
        self._documents: list[tuple[str, ...] | None] = []  # the terms of each
        # For each phrase asked for, the documents that have it, and up to which one.
        self._phrases: dict[tuple[str, ...], tuple[int, array]] = {}
        self._lengths = array("f")
        self._alive = array("b")
        self._total = 0.0
        self._living = 0
        self._damping: np.ndarray | None = None  # made anew after each change

    def __len__(self) -> int:
        """The number of documents that are not removed."""
        return self._living

    def add(self, text: str) -> int:
        """Appends a document; returns its number."""
        number, found = len(self._documents), self.vocabulary.terms(text)
        counted: dict[str, int] = {}
        for term in found:
            counted[term] = counted.get(term, 0) + 1
        postings = self._postings
        for term, count in counted.items():
            posting = postings.get(term)
            if posting is None:
                posting = postings[term] = (array("q"), array("f"))
            posting[0].append(number)
            posting[1].append(count)
        self._documents.append(tuple(found))
        self._lengths.append(len(found))
        self._alive.append(1)
        self._total += len(found)
        self._living += 1
        self._damping = None
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
        self._gone.update(list(dict.fromkeys(known)))
        self._total -= self._lengths[number]
        self._living -= 1
        self._damping = None

    def scores(self, query: str | Sequence[str]) -> np.ndarray:
        """BM25 of each document, shape (n,); 0 without a common term.

        Args:
            query: a text, or its words.
        """
        count = len(self._documents)
        held, rarities = [], []
        for term in dict.fromkeys(self.vocabulary.terms(query)):
            posting = self._postings.get(term)
            frequency = len(posting[0]) - self._gone.get(term, 0) if posting else 0
            if posting and frequency > 0:
                held.append(posting)
                rarity = (self._living - frequency + 0.5) / (frequency + 0.5)
                rarities.append((K1 + 1) * math.log1p(rarity))
        if not held:
            return np.zeros(count, dtype=np.float32)
        # All terms in one go: the postings one after the other.
        numbers = np.frombuffer(b"".join([p[0] for p in held]), dtype=np.int64)
        counts = np.frombuffer(b"".join([p[1] for p in held]), dtype=np.single)
        weights = np.repeat(np.array(rarities, np.single), [len(p[0]) for p in held])
        weights *= counts / (self._damped().take(numbers) + counts)
        scored = np.bincount(numbers, weights, count)
        if self._living < count:
            scored *= np.frombuffer(self._alive, dtype=np.int8)
        return scored.astype(np.float32)

    def holding(self, name: Sequence[str]) -> np.ndarray:
        """Numbers of the documents in which a name stands, ascending, shape (n,).

        Removed ones may be among them. The result is cached, so that only newer
        documents are looked through the next time.

        Args:
            name: its words. A name with a function word, which no document keeps, is
                found nowhere.
        """
        phrase = _phrase(name, self.vocabulary)
        upto, found = self._phrases.get(phrase, (0, array("q")))
        if upto < len(self._documents):
            postings = [self._postings.get(term) for term in phrase]
            held = [posting[0] for posting in postings if posting]
            if phrase and len(held) == len(phrase):
                rarest = min(held, key=len)
                newer = rarest[bisect_left(rarest, upto) :]
                found.extend(n for n in newer if _stands(phrase, self._documents[n]))
            self._phrases[phrase] = len(self._documents), found
        return np.array(found, dtype=np.intp)

    def _damped(self) -> np.ndarray:
        """The addend to a term's count in the denominator, for each document."""
        damping = self._damping
        if damping is None:
            mean = self._total / self._living or 1.0
            lengths = np.frombuffer(self._lengths, dtype=np.single)
            damping = self._damping = lengths * (K1 * B / mean) + K1 * (1 - B)
        return damping

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
                    array("q", left),
                    array("f", np.array(counts)[stay].tolist()),
                )
        self._postings, self._phrases = postings, {}
        self._gone = Counter()
        self._documents = [self._documents[number] for number in kept]
        self._lengths = array("f", np.array(self._lengths)[kept].tolist())
        self._alive = array("b", [1] * len(kept))
        self._damping = None
        return kept
