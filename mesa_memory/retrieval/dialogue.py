"""Which records belong to one talk, and what a talk adds to their relevance.

In a talk, turns lean on each other: an answer often lacks the words of its question,
and a remark the words for its subject. In a crowd, a remark stands beside another by
chance.

The shares, the length of a session and the measure of coherence were chosen on LoCoMo,
see ``docs/guide/retrieval_measured.md``.
"""

from typing import NamedTuple

import numpy as np

from mesa_memory.retrieval.scoring import min_max

#: no speaker has a number as high as this
NO_SPEAKER = np.iinfo(np.int32).max
#: a longer talk is cut into sessions of so many records
SESSION_RECORDS = 20
#: with fewer pairs of neighbours a memory does not count as coherent
MIN_PAIRS = 20
#: how much more alike neighbours are than any two records. Memories of talk have 0.05
#: to 0.28 with three embedders, of crowds -0.006 to 0.004
MIN_COHERENCE = 0.03
#: if all records are the same, nothing tells them apart
MAX_CHANCE = 0.99


class Likeness(NamedTuple):
    """How alike the records of a memory are.

    Attributes:
        chance: the mean cosine of any two, below 1.
        coherent: True if neighbours of one place are more alike than any two.
    """

    chance: float
    coherent: bool

    @classmethod
    def of(cls, vectors: np.ndarray, places: np.ndarray) -> "Likeness":
        """From the embeddings and places of records in order of arrival.

        Args:
            vectors: shape (n, dim), each of length 1.
            places: shape (n,).
        """
        if len(vectors) < 2:
            return cls(0.0, False)
        order = places.argsort(kind="stable")
        rows, places = vectors[order].astype(float), places[order]
        middle = rows.mean(axis=0)
        chance = min(float(middle @ middle), MAX_CHANCE)
        same = places[1:] == places[:-1]
        if np.count_nonzero(same) < MIN_PAIRS:
            return cls(chance, False)
        near = np.einsum("ij,ij->i", rows[1:], rows[:-1])[same].mean()
        return cls(chance, bool((near - chance) / (1 - chance) > MIN_COHERENCE))


class DialogueContext(NamedTuple):
    """Candidates by place; those of one place are a run.

    A run of several records is a talk if two speak in it, or nobody, or if the memory is
    coherent. A session is a talk, or up to ``SESSION_RECORDS`` successive records of it.

    Attributes:
        order: positions of the candidates, run after run, each in order of arrival; a
            slice if they stand so already.
        run: for each candidate, the number of its run, shape (n,).
        talk: for each run, whether it is a talk.
        joined: for each in that order but the first, 1 if it follows the one before in a
            talk; else 0. Shape (n - 1,), float32; None if none does.
        where: positions of the records of talks, session after session, shape (m,); a
            slice if these are all candidates in order.
        starts: where in ``where`` each session begins, ascending.
        lengths: the number of records of each session.
        session: for each candidate, the number of its session; of no session, the
            number of sessions.
    """

    order: slice | np.ndarray
    run: np.ndarray
    talk: np.ndarray
    joined: np.ndarray | None
    where: slice | np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    session: np.ndarray

    @classmethod
    def of(
        cls, places: np.ndarray, who: np.ndarray, coherent: bool = False
    ) -> "DialogueContext":
        """From the place and the speaker's number of each record; 0 stands for none.

        Args:
            coherent: whether the memory is, see ``Likeness``.
        """
        order: slice | np.ndarray = slice(None)
        if (places[1:] < places[:-1]).any():
            order = places.argsort(kind="stable")
            places, who = places[order], who[order]
        count = len(places)
        first = np.ones(count, dtype=bool)
        np.not_equal(places[1:], places[:-1], out=first[1:])
        starts = first.nonzero()[0]
        sizes = _sizes(starts, count)
        talk = sizes > 1
        if not coherent:
            talk &= _two_speak(who, starts, sizes)
        talking = np.repeat(talk, sizes)
        joined = talking[1:] & ~first[1:]
        run = np.repeat(np.arange(len(starts)), sizes)
        # A session begins with a talk, and after so many records again.
        at = np.arange(count) - np.repeat(starts, sizes)
        begins = (at % SESSION_RECORDS == 0)[talking].nonzero()[0]
        where: slice | np.ndarray = slice(None)
        if not talking.all() or not isinstance(order, slice):
            where = np.arange(count)[order][talking]
        number = run
        if not isinstance(order, slice):
            number = np.empty_like(run)
            number[order] = run
        lengths = _sizes(begins, int(talking.sum()))
        session = np.full(count, len(begins))
        session[where] = np.repeat(np.arange(len(begins)), lengths)
        joins = joined.astype(np.float32) if joined.any() else None
        return cls(order, number, talk, joins, where, begins, lengths, session)

    def neighbours(
        self, own: np.ndarray, shares: tuple[float, float]
    ) -> np.ndarray | float:
        """What the record before and the one after in a talk add, for each candidate.

        Args:
            own: relevance of each by itself.
            shares: of the record before and of the one after.
        """
        if self.joined is None:
            return 0.0
        mixed, (before, after) = own[self.order], shares
        added = np.zeros_like(own)
        added[1:] += self.joined * mixed[:-1] * before
        added[:-1] += self.joined * mixed[1:] * after
        if isinstance(self.order, slice):
            return added
        found = np.empty_like(added)
        found[self.order] = added
        return found

    def lift(
        self, own: np.ndarray, words: np.ndarray, shares: tuple[float, float]
    ) -> np.ndarray:
        """What its session adds to each record of a talk, as in ``where``.

        The best record of the session, and the session's words as one text.

        Args:
            own: relevance of each candidate by itself.
            words: BM25 of each session as one document.
            shares: of the best record, and of the words.
        """
        best, text = shares
        found = best * np.maximum.reduceat(own[self.where], self.starts)
        return np.repeat(found + min_max(words, top=text), self.lengths)

    def named(self, speaks: np.ndarray, mentions: np.ndarray) -> np.ndarray:
        """Positions of the records by or about a speaker whom the query names.

        Args:
            speaks, mentions: for each record, whether it is theirs, and whether their
                name is in it. In a talk of theirs it is an address and does not count.

        Returns:
            Positions, ascending.
        """
        theirs = np.zeros(len(self.talk), dtype=bool)
        theirs[self.run[speaks]] = True
        addressed = (theirs & self.talk)[self.run]
        return (speaks | (mentions & ~addressed)).nonzero()[0]


def _sizes(starts: np.ndarray, count: int) -> np.ndarray:
    """The lengths of the stretches that begin at ``starts``; the last ends at count."""
    sizes = np.empty_like(starts)
    sizes[:-1] = starts[1:] - starts[:-1]
    sizes[-1:] = count - starts[-1:]
    return sizes


def _two_speak(who: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """For each run, whether exactly two speak in it, or nobody."""
    high = np.maximum.reduceat(who, starts)
    low = np.minimum.reduceat(np.where(who > 0, who, NO_SPEAKER), starts)
    # More than two speak if somebody's number lies between two others.
    between = (who > np.repeat(low, sizes)) & (who < np.repeat(high, sizes))
    return ~np.logical_or.reduceat(between, starts) & (high != low)
