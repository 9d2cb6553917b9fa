"""One agent's records as arrays, and which of them come to mind.

Relevance is made from the cosine of the embeddings and from BM25, each brought to 0..1
over the candidates by min-max. What was said right before and after counts, too: an
answer often lacks the words of its question.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory import retrieval
from mesa_memory.lexical import words
from mesa_memory.records import MemoryRecord
from mesa_memory.recordtable import RecordTable
from mesa_memory.retrieval import Scoring

DEFAULT = Scoring()


@dataclass(frozen=True, slots=True)
class Recalled:
    """A record that came to mind, and why.

    Attributes:
        score: the weighted sum of relevance, importance and recency.
        rank: 1 is the best.
        parts: ``relevance``, ``importance``, ``recency`` before weighting, and what
            relevance was made of: ``dense`` (cosine) and ``lexical`` (BM25).
    """

    record: MemoryRecord
    score: float
    rank: int
    parts: dict[str, float]


class RecallIndex(RecordTable):
    """The live records of one agent, ranked for a query."""

    def recall(
        self,
        query: str | None = None,
        k: int | None = None,
        *,
        vector: Any = None,
        source: str = "",
        scoring: Scoring | None = None,
        now: float | None = None,
        kinds: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
        without: Collection[MemoryRecord] = (),
    ) -> list[Recalled]:
        """What comes to mind, best first; ties by step, then by order of arrival.

        Args:
            query: what it is about; None leaves relevance out.
            k: at most so many; None is all.
            vector, source: the query's embedding and the name of the embedder that made
                it; without it, words alone make relevance.
            scoring: by default ``Scoring()``.
            now: the clock; by default the newest step.
            kinds: only records of these kinds.
            since, until: only records of these steps, both included.
            without: none of these.

        Raises:
            EmbedderError: if the vector is not of the kind that is kept here.
            ValueError: if k is negative.
        """
        scoring = scoring or DEFAULT
        asked = None if vector is None else self._checked(vector, source, keep=False)
        slots = self._candidates(kinds, since, until, without)
        steps = self._columns["step"][slots]
        if now is None:
            now = float(steps.max()) if len(steps) else 0.0
        parts = self._parts(slots, query, asked, scoring, now)
        total = (
            scoring.relevance * parts["relevance"]
            + scoring.importance * parts["importance"]
            + scoring.recency * parts["recency"]
        )
        best = retrieval.top_k(total, k, (steps,))
        chosen = best if isinstance(slots, slice) else slots[best]
        self._access(chosen, now, scoring)
        return self._found(chosen, total[best], parts, best)

    def _found(
        self,
        slots: np.ndarray,
        scores: np.ndarray,
        parts: dict[str, np.ndarray],
        positions: np.ndarray,
    ) -> list[Recalled]:
        columns = [part[positions].tolist() for part in parts.values()]
        rows = [dict(zip(parts, row)) for row in zip(*columns)]
        found = zip(slots.tolist(), scores.tolist(), rows)
        return [
            Recalled(self._records[slot], score, rank, row)
            for rank, (slot, score, row) in enumerate(found, 1)
        ]

    def _parts(
        self,
        slots: slice | np.ndarray,
        query: str | None,
        vector: np.ndarray | None,
        scoring: Scoring,
        now: float,
    ) -> dict[str, np.ndarray]:
        dense = lexical = np.zeros(len(self._columns["step"][slots]))
        if vector is not None and self.dim and scoring.relevance:
            # The published formulas are reproduced in double precision.
            wide = np.float64 if scoring.rescale else np.float32
            rows = self._vectors[: len(self._records)]
            dense = (rows.astype(wide, copy=False) @ vector.astype(wide))[slots]
        if query and scoring.lexical_share and scoring.relevance:
            lexical = self._lexical.scores(query)[slots]
        accessed = self._columns["accessed"][slots]
        parts = {
            "relevance": self._relevance(slots, query, dense, lexical, scoring),
            "importance": self._columns["importance"][slots],
            "recency": retrieval.recency_part(accessed, now, scoring.decay),
        }
        if scoring.rescale:
            parts = {n: retrieval.min_max(p, scoring.flat) for n, p in parts.items()}
        return parts | {"dense": dense, "lexical": lexical}

    def _relevance(
        self,
        slots: slice | np.ndarray,
        query: str | None,
        dense: np.ndarray,
        lexical: np.ndarray,
        scoring: Scoring,
    ) -> np.ndarray:
        share = scoring.lexical_share
        if not share:
            mixed = dense
        else:
            mixed = (1 - share) * retrieval.min_max(dense)
            mixed = mixed + share * retrieval.min_max(lexical)
        before, after = scoring.neighbours
        relevance = mixed.astype(float)
        if before or after:
            places = self._columns["place"][slots]
            together = places[1:] == places[:-1]
            relevance[1:] += before * together * mixed[:-1]
            relevance[:-1] += after * together * mixed[1:]
        if query and scoring.named:
            named = self._named(query)
            if named.any():
                relevance += scoring.named * named[self._columns["who"][slots]]
        return relevance

    def _named(self, query: str) -> np.ndarray:
        """For each speaker, whether the query names it."""
        said = f" {' '.join(words(query))} "
        # Scripts outside ASCII may write a name and the next word as one.
        marked = (f" {name} " if name.isascii() else name for name in self._speakers)
        return np.array([mark != "  " and mark in said for mark in marked])

    def _access(self, slots: np.ndarray, now: float, scoring: Scoring) -> None:
        if scoring.refresh == "off":
            return
        accessed = self._columns["accessed"]
        if scoring.refresh == "throttled":
            slots = slots[now - accessed[slots] >= scoring.refresh_every]
        accessed[slots] = np.maximum(accessed[slots], now)
