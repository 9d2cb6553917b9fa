"""The talks among an agent's records, and their share in relevance.

In a talk, turns lean on each other: an answer often lacks the words of its question,
and a remark the words for its subject. In a crowd, a remark stands beside another by
chance.

Messages with the same agent are a talk if both speak. Other events of one step are a talk
if two agents speak, or if the memory is coherent: its events resemble their neighbours
more than any two do. A session is a talk, or a part of it with up to ``SESSION_RECORDS``
successive events. In a talk, relevance is

    (own + name + 0.3 · own of the event before + 0.15 · own of the event after
    + 0.4 · best own of the session + 0.3 · BM25 of the session as one text) / 1.7

In a crowd, an event by a named agent that names only others gets half of the boost.

The shares, the length of a session and the measure of coherence were chosen on LoCoMo,
see ``benchmarks/recall/README.md``.
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
#: how much more alike neighbours are than any two records, as a share of what is left
#: to 1. In 400 records of LoCoMo it is 0.14 to 0.26 with the shipped table and with
#: MiniLM, in those of changing worlds, which are crowds, -0.024 to 0.013
MIN_COHERENCE = 0.05
#: if all records are the same, nothing tells them apart
MAX_CHANCE = 0.99


class Likeness(NamedTuple):
    """The likeness of a memory's records.

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

    A run of several records is a talk if two agents speak in it, or if the memory is
    coherent. A session is a talk, or up to ``SESSION_RECORDS`` successive
    records of it.

    Attributes:
        run: for each candidate, the number of its run, shape (n,).
        talk: for each run, whether it is a talk.
        where: positions of the records of talks, talk after talk, each in order of
            arrival, shape (m,); a slice if these are all candidates in order.
        joined: for each of them but the first, 1 if it is of the same talk as the one
            before; else 0. Shape (m - 1,), float32.
        starts: where in ``where`` each session begins, ascending.
        lengths: the number of records of each session.
        session: for each candidate, the number of its session; of no session, the
            number of sessions.
    """

    run: np.ndarray
    talk: np.ndarray
    where: slice | np.ndarray
    joined: np.ndarray
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
        count, order = len(places), None
        if (places[1:] < places[:-1]).any():
            order = places.argsort(kind="stable")
            places, who = places[order], who[order]
        first = np.ones(count + 1, dtype=bool)  # the last is beyond the end
        np.not_equal(places[1:], places[:-1], out=first[1:-1])
        bounds, run = first.nonzero()[0], first[:-1].cumsum() - 1
        talk = bounds[1:] - bounds[:-1] > 1
        if not coherent:
            talk &= _two_speak(who, bounds[:-1], run)
        talking = talk[run].nonzero()[0]
        # A session begins with a talk, and after so many records again.
        at = talking - bounds[run[talking]]
        begins = np.ones(len(at) + 1, dtype=bool)
        np.equal(at % SESSION_RECORDS, 0, out=begins[:-1])
        sessions = begins.nonzero()[0]
        where: slice | np.ndarray = talking if order is None else order[talking]
        if order is None and len(talking) == count:
            where = slice(None)
        session = np.full(count, len(sessions) - 1)
        session[where] = begins[:-1].cumsum() - 1
        if order is not None:
            run[order] = run.copy()
        joined = (at[1:] > 0).astype(np.float32)
        lengths = sessions[1:] - sessions[:-1]
        return cls(run, talk, where, joined, sessions[:-1], lengths, session)

    def neighbours(self, own: np.ndarray, shares: tuple[float, float]) -> np.ndarray:
        """The shares of neighbours in the relevance of records of talks, as in ``where``.

        Args:
            own: relevance of each candidate by itself.
            shares: of the record before and of the one after.
        """
        mixed, (before, after) = own[self.where], shares
        added = np.zeros_like(mixed)
        added[1:] += self.joined * mixed[:-1] * before
        added[:-1] += self.joined * mixed[1:] * after
        return added

    def lift(
        self, own: np.ndarray, words: np.ndarray, shares: tuple[float, float]
    ) -> np.ndarray:
        """The share of its session in each record of a talk, as in ``where``.

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


def _two_speak(who: np.ndarray, starts: np.ndarray, run: np.ndarray) -> np.ndarray:
    """For each run, whether two agents speak in it."""
    high = np.maximum.reduceat(who, starts)
    low = np.minimum.reduceat(np.where(who > 0, who, NO_SPEAKER), starts)
    # More than two speak if somebody's number lies between two others.
    between = (who > low[run]) & (who < high[run])
    return ~np.logical_or.reduceat(between, starts) & (low < high)
