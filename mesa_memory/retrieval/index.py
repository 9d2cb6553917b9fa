"""One agent's records as arrays, and which of them are recalled.

Relevance is made from the cosine of the embeddings and from BM25, each brought to 0..1
over the candidates by min-max. In a talk the records before and after and the session
count, too, see ``dialogue``. Speakers and times that the query names are read from its
words, see ``query``.

Embeddings are rounded so that their cosines are exact, see ``table.rounded``, and scores
that are equal in nine decimals are ties. So the same vectors are ranked the same on every
machine and number of threads.

A score ranks: its parts are relative to the candidates, so the best record of a memory
that knows nothing of the matter has a high score, too. The ten best records are judged;
if the query names agents, only those of them by or about them. The match is

    z + 4.5 · words

``z`` is the mean of their three highest cosines, of fewer among less than 30 candidates, in
standard deviations above the mean of all candidates; 0 if the query was not embedded. ``words`` is the highest share of the
query's terms, weighted by rarity, that one of them has, or its session if it is part of
a talk. In a query of several lines, such as the messages of a step, the line with the
largest share counts.

A recall is weak if the match is below ``MIN_MATCH``, or ``MIN_MATCH_IN_TALK`` with the
words of a talk: a talk keeps to a few subjects, so cosines by chance are higher there.
With the shipped embedder, these mark a tenth of the questions whose answer was found, see
``benchmarks/recall/unanswered.py``.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.text.vocabulary import words
from mesa_memory.retrieval import scoring as retrieval
from mesa_memory.retrieval.activation import activations, later_ones
from mesa_memory.retrieval.query import TimeConstraint
from mesa_memory.retrieval.scoring import ActR, RecallQuery, Scoring, term_part
from mesa_memory.retrieval.table import RecordTable, Slots

DEFAULT_SCORING = Scoring()
#: share of ``speaker_boost`` for records by or about a speaker of the query
SPEAKER_SHARE = 0.1
#: so many of the best are compared with newer ones
SUPERSEDED_AMONG = 30


class ScoredRecord(NamedTuple):
    """A record that was recalled, and why.

    Attributes:
        score: the weighted sum of relevance, importance, recency, time_match and the terms
            that the scoring adds.
        rank: 1 is the best.
        parts: ``relevance``, ``importance``, ``recency`` and ``time_match`` before
            weighting, then each of the scoring's terms by its name, and what relevance
            was made of: ``dense`` (cosine) and ``lexical`` (BM25). ``time_match`` is 0 if
            the query asks for no time.
        repetitions: other candidates that say the same, in order of arrival; of many, the
            newest 20 and one of each other speaker. The score is the best of all; the
            record is the newest, or if the query names a speaker or a time, the best.
        times: how often it was said.
    """

    record: MemoryRecord
    score: float
    rank: int
    parts: dict[str, float]
    repetitions: tuple[MemoryRecord, ...] = ()
    times: int = 1


#: of each record recalled, what else says the same, and how often it was said
type Again = list[tuple[tuple[MemoryRecord, ...], int]]


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        records: best first.
        match: how well the best fits the query by itself, see ``best_match``; below 0, none of
            them does. 0 without a query, and for a scoring that counts no words, as
            those of published formulas.
        left_out: how many further records, those that say the same counted once, could
            have been found.
        forgotten: records that would be among them but for the scoring's threshold.
    """

    records: list[ScoredRecord]
    match: float = 0.0
    left_out: int = 0
    forgotten: Sequence[ScoredRecord] = ()


def checked_k(k: Any) -> int | None:
    """The number of records that are wanted; None is all.

    Raises:
        TypeError: if it is not a whole number; True does not count as one.
        ValueError: if it is negative.
    """
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise TypeError(f"k must be a whole number or None, got {k!r}")
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}")
    return int(k)


def _check(query: Any, scoring: Any, now: Any) -> None:
    if query is not None and not isinstance(query, str):
        raise TypeError(f"query must be a text or None, got {query!r}")
    if not isinstance(scoring, Scoring):
        raise TypeError(f"scoring must be a Scoring or None, got {scoring!r}")
    if now is not None and not math.isfinite(now):
        raise ValueError(f"now must be a finite number, got {now}")


class RecordIndex(RecordTable):
    """The live records of one agent, ranked for a query."""

    def body(self, query: str, scoring: Scoring) -> str:
        """The part of a query to embed: the rest counts in another way.

        Without the names of speakers, if ``speaker_boost`` counts them, and without words of
        time, if ``time_match`` does. Never empty unless the query is.
        """
        cues = self._read(query, scoring)
        said = cues.said if cues.body == query else words(cues.body)
        named = self.speaking(said) if scoring.speaker_boost else []
        return self.speakers.without(cues.body, named) if named else cues.body

    def _read(self, query: str, scoring: Scoring) -> TimeConstraint:
        read = TimeConstraint.of if scoring.time_match else TimeConstraint.none
        return read(query, self.vocabulary)

    def recall(self, *asked: Any, **filters: Any) -> list[ScoredRecord]:
        """The records of ``search``."""
        return self.search(*asked, **filters).records

    def search(
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
        subject: Any = None,
        without: Collection[MemoryRecord] = (),
        dumps: bool = True,
        speakers: Sequence[str] = (),
        chance: np.random.Generator | None = None,
    ) -> SearchResult:
        """The best records, best first; ties by step, then by order of arrival.

        Those that say the same are one, see ``ScoredRecord``.

        Args:
            query: what it is about; None leaves relevance out.
            k: at most ``k`` of them; None is all.
            vector, source: the embedding of the query, best of its ``body``, and the
                name of the embedder that made it; without it, words alone make relevance.
            scoring: by default ``Scoring()``.
            now: the clock; by default the newest step.
            kinds: only records of these kinds.
            since, until: only records of these steps, both included; none if until is
                before since.
            subject: only records about the agent with this unique id.
            without: none of these.
            dumps: False leaves out the records that ``add`` was told are dumps, unless
                all are.
            speakers: names of the speakers of the query. Records by or about them get
                ``SPEAKER_SHARE`` of the boost that a name in the query gives.
            chance: gives the noise of a scoring that has some; without it, none is added.

        Raises:
            EmbedderError: if the vector is not of the kind that is kept here.
            ValueError: if k is negative or ``now`` not finite.
            TypeError: if query, k or scoring is of another type.
        """
        k, scoring = checked_k(k), scoring or DEFAULT_SCORING
        _check(query, scoring, now)
        asked = None if vector is None else self.checked(vector, source)
        slots = self.candidates(kinds, since, until, subject, without, dumps)
        steps = self.columns["step"][slots]
        if now is None:
            now = float(steps.max()) if len(steps) else 0.0
        if k == 0 or not len(steps):
            return SearchResult([], left_out=len(steps))
        cues = self._read(query or "", scoring)
        codes = self.speaking(cues.said) if scoring.speaker_boost else []
        named = self.named(slots, codes)
        near = np.maximum(named, SPEAKER_SHARE * self.spoken_by(slots, speakers))
        recency = self._recency(slots, scoring, now, chance)
        added = self._added(slots, scoring, RecallQuery(query, now))
        ranking = slots, steps, cues, asked, near, scoring, now, added, recency
        total, parts = self._ranked(*ranking)
        own = bool(codes or cues.step is not None or cues.before)
        best, shown, again, known = self._chosen(slots, total, k, steps, own)
        chosen = shown if isinstance(slots, slice) else slots[shown]
        ranked = self._found(chosen, again, best, total, parts)
        count = int((total[best] >= scoring.least).sum())
        best, found, forgotten = best[:count], ranked[:count], ranked[count:]
        self._access(chosen[:count], now, scoring)
        left_out = int((total[known] >= scoring.least).sum()) - count
        if not (query and scoring.relevance and scoring.lexical_share):
            return SearchResult(found, 0.0, left_out, forgotten)
        lines = query.splitlines() if cues.body == query else [cues.body]
        judged = _judged(best, named if codes else None)
        match = self._match(slots, judged, lines, codes, parts["dense"])
        return SearchResult(found, match, left_out, forgotten)

    def _chosen(
        self,
        slots: Slots,
        total: np.ndarray,
        k: int | None,
        steps: np.ndarray,
        own: bool,
    ) -> tuple[np.ndarray, np.ndarray, Again, Slots]:
        """The best of each that say the same.

        Args:
            own: show the best itself, not the newest that says the same.

        Returns:
            The positions of the best, those of the records to show, what else says the
            same, and the positions of the best of all that say the same.
        """
        lead = self.distinct(slots, total)
        if lead is None:
            best = retrieval.top_k(total, k, steps)
            return best, best, [((), 1)] * len(best), slice(None)
        best = lead[retrieval.top_k(total[lead], k, steps[lead])]
        alike, times = self.repetitions(slots, best)
        shown = best if own else np.array([several[-1] for several in alike], dtype=int)
        where = range(len(self.records))[slots] if isinstance(slots, slice) else slots
        others = [
            tuple([self.records[where[n]] for n in several if n != place])
            for place, several in zip(shown.tolist(), alike)
        ]
        return best, shown, list(zip(others, times)), lead

    def _match(
        self,
        slots: Slots,
        judged: np.ndarray,
        lines: Sequence[str],
        named: Sequence[int],
        dense: np.ndarray,
    ) -> float:
        """The match of the best of these candidates with lines, without names in them."""
        said = [words(self.speakers.without(line, named)) for line in lines]
        talks, count = self.dialogue(slots), len(judged)
        session, sessions = talks.session[judged], len(talks.starts)
        alone = session == sessions
        place = np.full(sessions + 1, count)
        place[session[~alone]] = (~alone).nonzero()[0]
        group = place[talks.session]
        group[judged[alone]] = alone.nonzero()[0]
        everywhere = self._spread(slots, group, count)
        shares = [self.lexical.shares(line, everywhere, count) for line in said]
        found = np.maximum.reduce(shares)[group[judged]]
        return best_match(dense, judged, found, ~alone)

    def _spread(self, slots: Slots, group: np.ndarray, rest: int) -> np.ndarray:
        """A number for each candidate as one for each slot; ``rest`` for the others."""
        if isinstance(slots, slice):
            return group
        found = np.full(len(self.records), rest)
        found[slots] = group
        return found

    def _ranked(
        self,
        slots: Slots,
        steps: np.ndarray,
        cues: TimeConstraint,
        asked: np.ndarray | None,
        named: np.ndarray,
        scoring: Scoring,
        now: float,
        added: dict[str, np.ndarray],
        recency: np.ndarray,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The scores of all candidates, and their parts."""
        importance, recency, prior = self._prior(slots, scoring, cues, recency)
        for term in scoring.terms:
            prior = prior + term.weight * added[term.name]
        if not self.dim or not scoring.relevance:
            asked = None
        dense = self._dense_part(slots, asked)
        lexical = self._lexical_part(slots, cues.said, scoring)
        fits, session = self._fits(slots, cues, dense, lexical, named, scoring)
        question = np.zeros(len(fits))
        if scoring.relevance and cues.said:
            question -= self.columns["question"][slots]
        total = prior + scoring.relevance * fits + scoring.question_penalty * question
        clock = self._clock(slots, steps, cues, total + named, now)
        near, older = np.zeros(len(total)), np.zeros(len(total))
        if clock is not None:
            near = retrieval.asked_part(steps, clock, scoring.decay)
            total += scoring.time_match * near
            if scoring.superseded:
                top = retrieval.top_k(total, SUPERSEDED_AMONG, steps)
                older[top] = self._superseded(slots, top, clock)
                total += scoring.superseded * older
        weighted = {
            "relevance": fits, "importance": importance, "recency": recency,
            "time_match": near, "superseded": older, "question": question,
        }  # fmt: skip
        made_of = {"dense": dense, "lexical": lexical, "session": session}
        return total, weighted | added | made_of

    def _superseded(self, slots: Slots, top: np.ndarray, clock: float) -> np.ndarray:
        where = top if isinstance(slots, slice) else slots[top]
        steps, who = self.columns["step"][where], self.columns["who"][where]
        chance = self.likeness().chance
        return retrieval.superseded_part(self.vectors[where], steps, who, clock, chance)

    def _added(
        self, slots: Slots, scoring: Scoring, question: RecallQuery
    ) -> dict[str, np.ndarray]:
        """The values of the scoring's own terms, by name."""
        if not scoring.terms:
            return {}
        where = range(len(self.records))[slots] if isinstance(slots, slice) else slots
        records = [self.records[slot] for slot in where]
        parts = {t.name: term_part(t, records, question) for t in scoring.terms}
        if scoring.min_max:
            return {
                n: retrieval.min_max(p, scoring.constant_value)
                for n, p in parts.items()
            }
        return parts

    def _found(
        self,
        slots: np.ndarray,
        again: Again,
        best: np.ndarray,
        scores: np.ndarray,
        parts: dict[str, np.ndarray],
    ) -> list[ScoredRecord]:
        """The records in these slots with what else says the same, and their scores."""
        records = [self.records[slot] for slot in slots.tolist()]
        rows = zip(*[part[best].tolist() for part in parts.values()])
        explained = [dict(zip(parts, row)) for row in rows]
        ranks = range(1, len(records) + 1)
        several = zip(records, scores[best].tolist(), ranks, explained, again)
        return [
            ScoredRecord(record, score, rank, parts, *others)
            for record, score, rank, parts, others in several
        ]

    def _prior(
        self, slots: Slots, scoring: Scoring, cues: TimeConstraint, recency: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Importance, recency, and their weighted sum.

        For a question about the past, what is recent does not count.
        """
        importance = self.columns["importance"][slots]
        if scoring.min_max:
            importance = retrieval.min_max(importance, scoring.constant_value)
            recency = retrieval.min_max(recency, scoring.constant_value)
        if cues.step is not None or cues.before:
            recency = np.zeros(len(recency))
        weighted = scoring.importance * importance + scoring.recency * recency
        return importance, recency, weighted

    def _recency(
        self,
        slots: Slots,
        scoring: Scoring,
        now: float,
        chance: np.random.Generator | None,
    ) -> np.ndarray:
        """Recency of each candidate; with a scoring that forgets, its activation."""
        if not isinstance(scoring, ActR):
            accessed = self.columns["accessed"][slots]
            return retrieval.recency_part(accessed, now, scoring.decay)
        noise = np.zeros(len(self.records))
        if chance is not None and scoring.noise:
            live = self.columns["alive"][: len(noise)]
            noise[live] = chance.logistic(0.0, scoring.noise, int(live.sum()))
        return self._activations(slots, scoring, now) + noise[slots]

    def _activations(self, slots: Slots, scoring: ActR, now: float) -> np.ndarray:
        where = range(len(self.records))[slots] if isinstance(slots, slice) else slots
        records = [self.records[slot] for slot in where]
        presented = [(r.step, self.presented.get(r.id, ())) for r in records]
        rates = scoring.unit, scoring.decay, scoring.spacing
        return activations(presented, now, *rates)

    def _dense_part(self, slots: Slots, vector: Any) -> np.ndarray:
        rows = self.vectors[: len(self.records)]
        if vector is None:
            return np.zeros(len(rows))[slots]
        return (rows @ vector).astype(float)[slots]

    def _lexical_part(
        self, slots: Slots, said: Sequence[str], scoring: Scoring
    ) -> np.ndarray:
        if not said or not scoring.lexical_share or not scoring.relevance:
            return np.zeros(len(self.records))[slots]
        return self.lexical.scores(said)[slots]

    def _fits(
        self,
        slots: Slots,
        cues: TimeConstraint,
        dense: np.ndarray,
        lexical: np.ndarray,
        named: np.ndarray,
        scoring: Scoring,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Relevance of each candidate, and the part of it that its session adds."""
        own = retrieval.mixture(dense, lexical, scoring.lexical_share)
        fits, session = own.copy(), np.zeros(len(own))
        weights, talks = scoring.session_weights, self.dialogue(slots)
        if scoring.relevance:
            fits += scoring.speaker_boost * named
            if any(scoring.context_weights):
                fits[talks.where] += talks.neighbours(own, scoring.context_weights)
            if any(weights) and len(talks.starts):
                said = cues.said if scoring.lexical_share else ()
                group = self._spread(slots, talks.session, len(talks.starts))
                text = self.lexical.group_scores(said, group, len(talks.starts))
                lift = talks.lift(own, text, weights)
                # So that it stays on the scale of other records.
                scale = 1 + sum(weights)
                session[talks.where] = lift / scale
                fits[talks.where] /= scale
                fits += session
        if scoring.min_max:
            fits = retrieval.min_max(fits, scoring.constant_value)
        return fits, session

    def _clock(
        self,
        slots: Slots,
        steps: np.ndarray,
        cues: TimeConstraint,
        total: np.ndarray,
        now: float,
    ) -> float | None:
        """The step that the query is about; None if it names no time."""
        if cues.step is not None:
            return min(cues.step, now)
        if not cues.before:
            return now if cues.present else None
        # What ended that time has the words for it, is by or about those named, and
        # fits the rest best.
        ended = self.lexical.scores(cues.before)[slots].astype(float)
        if not ended.any():
            return None
        score = np.where(ended > 0, total + retrieval.min_max(ended), -math.inf)
        (first,) = retrieval.top_k(score, 1, steps)
        return min(math.nextafter(float(steps[first]), -math.inf), now)

    def _access(self, slots: np.ndarray, now: float, scoring: Scoring) -> None:
        if scoring.refresh == "off":
            return
        accessed = self.columns["accessed"]
        if isinstance(scoring, ActR):
            levels = self._activations(slots, scoring, now).tolist()
            for record, level in zip([self.records[s] for s in slots], levels):
                known = self.presented.get(record.id, ())
                if seen := later_ones(record.step, known, now, level):
                    self.presented[record.id] = seen
        if scoring.refresh == "throttled":
            slots = slots[now - accessed[slots] >= scoring.refresh_every]
        accessed[slots] = np.maximum(accessed[slots], now)


# -- the match of the best record with the query ---------------------------------------


#: the records that are judged
JUDGED_RECORDS = 10
#: the mean of so many cosines counts
HIGHEST_COSINES = 3
WORDS_WEIGHT = 4.5
MIN_MATCH, MIN_MATCH_IN_TALK = 1.8, 4.725


def _judged(best: np.ndarray, named: np.ndarray | None) -> np.ndarray:
    """Positions of the judged records: of several named, those by or about them."""
    judged = best[:JUDGED_RECORDS]
    return judged if named is None else judged[named[judged] > 0]


def best_match(
    dense: np.ndarray, judged: np.ndarray, words: np.ndarray, talking: np.ndarray
) -> float:
    """The match above its threshold; below 0, nothing fits.

    Args:
        dense: the cosines of all candidates; all 0 if the query was not embedded.
        judged: positions of the judged records.
        words: for each of these, the share of the query's terms in it or in its session.
        talking: for each of these, whether it is part of a talk.
    """
    if not len(judged):
        return -math.inf
    beyond = dense - dense.sum() / len(dense)
    spread = math.sqrt(np.square(beyond).sum() / len(dense))
    few = min(HIGHEST_COSINES, max(len(dense) // 10, 1))
    highest = np.sort(beyond[judged])[-few:]
    z = highest.mean() / spread if spread else 0.0
    least = np.where(talking & (spread > 0), MIN_MATCH_IN_TALK, MIN_MATCH)
    return float(z + (WORDS_WEIGHT * words - least).max())
