"""Recalls of an agent: candidates, scores, and their ranks with other weights."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.retrieval.activation import not_recalled
from mesa_memory.runs import Run
from mesa_memory.runs.past import Past, Row, text_of
from mesa_memory.runs.queries import added_terms
from mesa_memory.runs.recorded import logged
from mesa_memory.stores.schema import recalls as log
from mesa_memory.viz.data.agent import number

#: parts of every score, in order; terms of the user's own come after them
PARTS = (
    "relevance", "importance", "recency", "time_match", "superseded", "question",
)  # fmt: skip
#: those of them that count in each recall
USUAL_PARTS = PARTS[:3]
#: the setting that is a part's weight, if it has another name
WEIGHTS = {"question": "question_penalty"}
#: reasons in words, by the part of the score
WHY = {
    "relevance": "it is about the same",
    "importance": "it matters",
    "recency": "it is recent",
    "time_match": "it is of the time asked for",
    "superseded": "a newer statement is like it",
    "question": "it only asks",
}
#: candidates that are shown with their reasons
FIRST_CANDIDATES = 3
#: scores that differ by less are equal: recorded parts have six digits
SCORE_STEP = 1e-5


@dataclass(frozen=True)
class RecallCandidate:
    """A record that came to mind.

    Attributes:
        rank: 1 is the best.
        parts: the values of the recall's ``names`` before weighting.
        shown: False if the prompt's budget dropped it.
        used: whether the agent's reply used it; None if unknown.
        session: the share of relevance that its session adds.
        also: who else said it and when; empty if nobody.
        row: the record; None if it is not in the run.
    """

    id: str
    rank: int
    score: float
    parts: tuple[float, ...]
    shown: bool
    row: Row | None
    used: bool | None = None
    session: float = 0.0
    also: str = ""

    @property
    def text(self) -> str:
        """The record as text."""
        return text_of(self.row) if self.row else "not in this run"

    @property
    def place(self) -> tuple[float, float, int]:
        """The order of candidates with equal scores: the earlier record first."""
        if self.row is None:
            return float("inf"), float("inf"), self.rank
        return self.row["step"], self.row["seq"], self.rank


@dataclass(frozen=True)
class RecordedRecall:
    """One recall of an agent.

    Attributes:
        purpose: such as ``"prompt"``, ``"reflect"`` and ``"query"``.
        query: the text that was searched; None without one.
        names: of the parts of a score: ``PARTS`` and the scoring's own terms.
        weights: of ``names``; None for one that was not recorded.
        scoring: all settings, see ``Scoring``.
        candidates: best first.
    """

    step: float
    layer: str
    purpose: str
    query: str | None
    names: tuple[str, ...]
    weights: tuple[float | None, ...]
    scoring: dict[str, Any]
    candidates: list[RecallCandidate]

    @property
    def dropped(self) -> int:
        """Number of candidates that the prompt's budget left no room for."""
        kept = [one for one in self.candidates if not self.lacking(one.score)]
        return sum(not candidate.shown for candidate in kept)

    def lacking(self, score: float) -> str:
        """Words that tell how far a score is below the threshold; empty if it is not."""
        least = number(self.scoring.get("threshold"))
        return "" if least is None or score >= least else not_recalled(score, least)

    def weighing(self, given: Sequence[float] | None) -> tuple[float, ...]:
        """The weights of ``names`` to rank with.

        Args:
            given: of relevance, importance and recency; None takes the recall's own.
        """
        own = [0.0 if weight is None else weight for weight in self.weights]
        return (*(given or own[:3]), *own[3:])

    def weighted(self, candidate: RecallCandidate) -> list[tuple[str, float]]:
        """Name and weighted value of each part of a candidate's score."""
        parts = zip(self.names, self.weighing(None), candidate.parts)
        return [(name, weight * part) for name, weight, part in parts]


@dataclass(frozen=True)
class Ranked:
    """A candidate under some weights.

    Attributes:
        rank: its new rank.
        weighted: the parts of its score, after weighting.
    """

    candidate: RecallCandidate
    rank: int
    weighted: tuple[float, ...]
    score: float

    @property
    def moved(self) -> int:
        """Number of places it went up; negative for down."""
        return self.candidate.rank - self.rank


def recalls(run: Run, agent: Any, step: float | None = None) -> list[Row]:
    """The rows of an agent's recalls, in order, for ``understood``.

    Args:
        step: only of this one; None is all.
    """
    wanted = logged(run, log, agent, None)
    found: list[Row] = run.records(
        wanted if step is None else wanted.where(log.c.step == step)
    )
    return found


def candidates_of(row: Row) -> list[dict[str, Any]]:
    """The recorded candidates of a row of ``recalls``; damaged ones are left out."""
    given = row["candidates"] if isinstance(row["candidates"], list) else []
    dicts = [one for one in given if isinstance(one, dict)]
    return [one for one in dicts if isinstance(one.get("id"), str)]


def understood(row: Row, past: Past) -> RecordedRecall:
    """A row of ``recalls`` with its records.

    A damaged value counts as unknown, or 0.
    """
    scoring = row["scoring"] if isinstance(row["scoring"], dict) else {}
    added = added_terms(scoring)
    names = (*PARTS, *(name for name, _ in added))
    found = [
        _candidate(one, rank, past, names)
        for rank, one in enumerate(candidates_of(row), 1)
    ]
    return RecordedRecall(
        row["step"],
        row["layer"] or "",
        row["purpose"] or "",
        row["query"],
        names,
        (
            *(number(scoring.get(WEIGHTS.get(n, n))) for n in PARTS),
            *(w for _, w in added),
        ),
        scoring,
        sorted(found, key=lambda candidate: candidate.rank),
    )


def ranked(recall: RecordedRecall, weights: Sequence[float] | None) -> list[Ranked]:
    """The candidates of a recall under some weights, best first.

    Args:
        weights: of relevance, importance and recency, 0 or more; None are the
            recall's own, with which nothing moves.
    """
    used = recall.weighing(weights)
    same = used == recall.weighing(None)
    scored = []
    for candidate in recall.candidates:
        parts = tuple(w * part for w, part in zip(used, candidate.parts))
        scored.append((candidate, parts, sum(parts)))
    if not same:
        scored.sort(key=lambda one: (-round(one[2] / SCORE_STEP), one[0].place))
    return [
        Ranked(candidate, rank, parts, candidate.score if same else score)
        for rank, (candidate, parts, score) in enumerate(scored, 1)
    ]


def _candidate(
    given: Mapping[str, Any], rank: int, past: Past, names: Sequence[str]
) -> RecallCandidate:
    parts = tuple(number(given.get(name)) or 0.0 for name in names)
    own = given.get("rank")
    return RecallCandidate(
        given["id"],
        own if isinstance(own, int) else rank,
        number(given.get("score")) or 0.0,
        parts,
        given.get("shown") is not False,
        past.by_id.get(given["id"]),
        given["used"] if isinstance(given.get("used"), bool) else None,
        number(given.get("session")) or 0.0,
        past.also_said(given),
    )


def best(recall: RecordedRecall, most: int) -> list[tuple[RecallCandidate, int]]:
    """The first candidates, and how many of all have the same text.

    Args:
        most: number of different texts.
    """
    times = Counter(one.text for one in recall.candidates)
    first: dict[str, RecallCandidate] = {}
    for one in recall.candidates:
        first.setdefault(one.text, one)
    return [(one, times[one.text]) for one in list(first.values())[:most]]


def reason(recall: RecordedRecall, candidate: RecallCandidate, times: int = 1) -> str:
    """The parts of a record's score in words, the greatest first.

    Args:
        times: number of records with the same text, which is told if there are several.
    """
    parts = sorted(recall.weighted(candidate), key=lambda part: -part[1])
    told = [f"{WHY.get(name, name)} ({name} {v:.2f})" for name, v in parts if v > 0]
    why = f"because {', '.join(told)}" if told else f"score {candidate.score:.2f}"
    why = recall.lacking(candidate.score) or why
    why = f"{why}; {candidate.also}" if candidate.also else why
    return f"{why}; {times} records say it" if times > 1 else why
