"""BM25 over one agent's own records: add and remove without a rebuild.

Robertson & Zaragoza 2009: the sum over the query's terms of
``idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length))`` with
``idf = ln(1 + (n - df + 0.5) / (df + 0.5))``. Names and numbers are kept, words are
lower-cased and stemmed (Snowball), function words are left out; see ``Vocabulary``.
"""

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

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
    """True if the terms follow each other in a document that has the rarest of them."""
    if document is None or len(phrase) == 1:
        return document is not None
    return phrase in zip(*[document[at:] for at in range(len(phrase))])


class Matches(NamedTuple):
    """The documents that have the terms of a query, term after term.

    Attributes:
        numbers, counts: of the documents, and how often each has the term.
        terms: for each of them, the number of its term, from 0.
        frequencies: how many documents have each term, without removed ones.
        unknown: how many terms of the query no document has.
    """

    numbers: np.ndarray
    counts: np.ndarray
    terms: np.ndarray
    frequencies: np.ndarray
    unknown: int

    def counted(self, group: np.ndarray, count: int) -> np.ndarray:
        """The counts of each term in each group of documents, shape (terms, count).

        Args:
            group, count: see ``LexicalIndex.group_scores``.
        """
        terms, width = len(self.frequencies), count + 1
        cells = self.terms * width + group.take(self.numbers)
        held = np.bincount(cells, self.counts, terms * width)
        return held.reshape(terms, width)[:, :count]


def _rarity(count: int, frequencies: np.ndarray) -> np.ndarray:
    """The greatest weight of each term, by how many of ``count`` documents have it."""
    odds = ((count - frequencies + 0.5) / (frequencies + 0.5)).tolist()
    # That of the math library, which rounds the same on every processor.
    return np.array([(K1 + 1) * math.log1p(odd) for odd in odds])


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
        # For each phrase asked for, by its last term, the documents that have it.
        self._phrases: dict[str, dict[tuple[str, ...], array]] = {}
        self._lengths = array("f")
        self._alive = array("b")
        self._total = 0.0
        self._living = 0
        # These are made anew after each change.
        self._damping: np.ndarray | None = None
        self._grouped: tuple[np.ndarray, np.ndarray] | None = None
        self._matched: tuple[str | tuple[str, ...], Matches | None] | None = None

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
        document = tuple(found)
        for term in counted.keys() & self._phrases.keys():
            for phrase, holding in self._phrases[term].items():
                if _stands(phrase, document):
                    holding.append(number)
        self._documents.append(document)
        self._lengths.append(len(found))
        self._alive.append(1)
        self._total += len(found)
        self._living += 1
        self._damping = self._grouped = self._matched = None
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
        self._damping = self._grouped = self._matched = None

    def _matches(self, query: str | Sequence[str]) -> Matches | None:
        """The documents with terms of a query; None without any.

        The last result is kept until something changes.
        """
        key = query if isinstance(query, str) else tuple(query)
        if self._matched and self._matched[0] == key:
            return self._matched[1]
        held, frequencies = [], []
        asked = dict.fromkeys(self.vocabulary.terms(query))
        for term in asked:
            posting = self._postings.get(term)
            frequency = len(posting[0]) - self._gone.get(term, 0) if posting else 0
            if posting and frequency > 0:
                held.append(posting)
                frequencies.append(frequency)
        found = None
        if held:
            # All terms in one go: the postings one after the other.
            numbers = np.frombuffer(b"".join([p[0] for p in held]), dtype=np.int64)
            counts = np.frombuffer(b"".join([p[1] for p in held]), dtype=np.single)
            terms = np.repeat(np.arange(len(held)), [len(p[0]) for p in held])
            unknown = len(asked) - len(held)
            found = Matches(numbers, counts, terms, np.array(frequencies), unknown)
        self._matched = key, found
        return found

    def scores(self, query: str | Sequence[str]) -> np.ndarray:
        """BM25 of each document, shape (n,); 0 without a common term.

        Args:
            query: a text, or its words.
        """
        count, found = len(self._documents), self._matches(query)
        if found is None:
            return np.zeros(count, dtype=np.float32)
        rarity = _rarity(self._living, found.frequencies).astype(np.single)
        weights = rarity.take(found.terms)
        weights *= found.counts / (self._damped().take(found.numbers) + found.counts)
        scored = np.bincount(found.numbers, weights, count)
        if self._living < count:
            scored *= np.frombuffer(self._alive, dtype=np.int8)
        return scored.astype(np.float32)

    def group_scores(
        self, query: str | Sequence[str], group: np.ndarray, count: int
    ) -> np.ndarray:
        """BM25 of groups of documents, each read as one document, shape (count,).

        Args:
            query: a text, or its words.
            group: the number of each document's group, shape (n,); ``count`` for a
                document of none, and for removed ones.
            count: the number of groups.
        """
        found = self._matches(query)
        if found is None or not count:
            return np.zeros(count)
        held = found.counted(group, count)
        rarity = _rarity(count, (held > 0).sum(axis=1))
        return rarity @ (held / (held + self._damped_groups(group, count)))

    def shares(self, said: Sequence[str], group: np.ndarray, count: int) -> np.ndarray:
        """The share of a query's terms in each of some groups, shape (count,), 0 to 1.

        Terms are weighted by their rarity.

        Args:
            said: the words of the query.
            group, count: see ``group_scores``.
        """
        found = self._matches(said)
        if found is None:
            return np.zeros(count)
        frequencies = np.append(found.frequencies, np.zeros(found.unknown))
        rarity = _rarity(self._living, frequencies)
        held = found.counted(group, count) > 0
        return rarity[: len(held)] @ held / rarity.sum()

    def holding(self, name: Sequence[str]) -> array:
        """Numbers of the documents in which a name stands, ascending.

        Removed ones may be among them. Documents that come later are found at once.

        Args:
            name: its words. A name with a function word, which no document keeps, is
                found nowhere.
        """
        phrase = _phrase(name, self.vocabulary)
        if not phrase:
            return array("q")
        known = self._phrases.setdefault(phrase[-1], {})
        if phrase not in known:
            held = [
                self._postings[term][0] for term in phrase if term in self._postings
            ]
            rarest = min(held, key=len) if len(held) == len(phrase) else ()
            found = [n for n in rarest if _stands(phrase, self._documents[n])]
            known[phrase] = array("q", found)
        return known[phrase]

    def _damped(self) -> np.ndarray:
        """The addend to a term's count in the denominator, for each document."""
        damping = self._damping
        if damping is None:
            mean = self._total / self._living or 1.0
            lengths = np.frombuffer(self._lengths, dtype=np.single)
            damping = self._damping = lengths * (K1 * B / mean) + K1 * (1 - B)
        return damping

    def _damped_groups(self, group: np.ndarray, count: int) -> np.ndarray:
        """The same for groups; kept as long as the groups are the same object."""
        kept = self._grouped
        if kept is None or kept[0] is not group:
            lengths = np.bincount(group, self._lengths, count + 1)[:count]
            mean = lengths.sum() / count or 1.0
            damping = lengths * (K1 * B / mean) + K1 * (1 - B)
            kept = self._grouped = group, damping
        return kept[1]

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
        self._damping = self._grouped = self._matched = None
        return kept
