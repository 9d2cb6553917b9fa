"""What came to an agent's mind, why, and what would have with other weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from mesa_memory.runs import Run
from mesa_memory.runs.recalls import added_terms
from mesa_memory.stores import schema
from mesa_memory.viz.data.agent import Past, Row, text_of

#: what every score is the weighted sum of, in this order; then come terms of a user's
PARTS = ("relevance", "importance", "recency", "time_match")
#: recorded parts have six digits, so scores that are closer than this are equal
TIE = 1e-5


@dataclass(frozen=True)
class Candidate:
    """A record that came to mind, as it was recorded.

    Attributes:
        rank: 1 is the best.
        parts: the values of the recall's ``names`` before weighting.
        shown: False if the reader's budget dropped it.
        used: whether the agent's reply used it; None if that is not known.
        row: the record; None if the run does not have it.
    """

    id: str
    rank: int
    score: float
    parts: tuple[float, ...]
    shown: bool
    row: Row | None
    used: bool | None = None

    @property
    def text(self) -> str:
        """The record as people read it."""
        return text_of(self.row) if self.row else "not in this run"

    @property
    def place(self) -> tuple[float, float, int]:
        """Which of two equals comes first: the earlier one."""
        if self.row is None:
            return float("inf"), float("inf"), self.rank
        return self.row["step"], self.row["seq"], self.rank


@dataclass(frozen=True)
class Recall:
    """One recall of an agent.

    Attributes:
        purpose: such as ``"prompt"``, ``"reflect"`` and ``"query"``.
        query: what it was about; None if it was about nothing.
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
    candidates: list[Candidate]

    @property
    def dropped(self) -> int:
        """How many the reader's budget left no room for."""
        return sum(not candidate.shown for candidate in self.candidates)

    def weighing(self, given: Sequence[float] | None) -> tuple[float, ...]:
        """The weights of ``names`` to rank with.

        Args:
            given: of relevance, importance and recency; None, and whatever is not
                given, are the recall's own.
        """
        own = [0.0 if weight is None else weight for weight in self.weights]
        return (*(given or own[:3]), *own[3:])


@dataclass(frozen=True)
class Ranked:
    """A candidate under some weights.

    Attributes:
        rank: its new rank.
        weighted: the parts of its score, after weighting.
    """

    candidate: Candidate
    rank: int
    weighted: tuple[float, ...]
    score: float

    @property
    def moved(self) -> int:
        """How many places it went up; negative for down."""
        return self.candidate.rank - self.rank


def recall_steps(run: Run, agent: Any) -> list[float]:
    """The steps in which an agent recalled something, in order."""
    log = schema.recalls
    own = (log.c.run == run.id, log.c.agent == run.name_of(agent))
    wanted = select(log.c.step).where(*own).distinct()
    return sorted(step for (step,) in run.rows(wanted))


def recalls(
    run: Run, agent: Any, step: float | None = None, until: float | None = None
) -> list[Row]:
    """The rows of an agent's recalls, in order, for ``understood``.

    Args:
        step: only of this one; None is all.
        until: of all steps from ``step`` to this one.
    """
    log = schema.recalls
    own = (log.c.run == run.id, log.c.agent == run.name_of(agent))
    columns = [column for column in log.columns if column.name != "run"]
    wanted = select(*columns).where(*own)
    if step is not None:
        last = step if until is None else until
        wanted = wanted.where(log.c.step >= step, log.c.step <= last)
    return sorted(run.records(wanted), key=lambda row: row["seq"])


def understood(row: Row, past: Past) -> Recall:
    """A row of ``recalls`` with the records that it speaks of.

    What is missing or damaged in it counts as unknown, or 0.
    """
    scoring = row["scoring"] if isinstance(row["scoring"], dict) else {}
    given = row["candidates"] if isinstance(row["candidates"], list) else []
    added = added_terms(scoring)
    names = (*PARTS, *(name for name, _ in added))
    found = [
        _candidate(one, rank, past, names)
        for rank, one in enumerate(given, 1)
        if isinstance(one, dict) and isinstance(one.get("id"), str)
    ]
    return Recall(
        row["step"],
        row["layer"] or "",
        row["purpose"] or "",
        row["query"],
        names,
        (*(_number(scoring.get(name)) for name in PARTS), *(w for _, w in added)),
        scoring,
        sorted(found, key=lambda candidate: candidate.rank),
    )


def ranked(recall: Recall, weights: Sequence[float] | None) -> list[Ranked]:
    """The candidates of a recall under some weights, best first.

    Args:
        weights: of relevance, importance and recency, 0 or more; None are the
            recall's own, with which nothing moves.

    Raises:
        ValueError: if they are not three such numbers.
    """
    if weights is not None and not (len(weights) == 3 and min(weights) >= 0):
        raise ValueError(f"weights must be three numbers, 0 or more, got {weights}")
    used = recall.weighing(weights)
    same = used == recall.weighing(None)
    scored = []
    for candidate in recall.candidates:
        parts = tuple(w * part for w, part in zip(used, candidate.parts))
        scored.append((candidate, parts, sum(parts)))
    if not same:
        scored.sort(key=lambda one: (-round(one[2] / TIE), one[0].place))
    return [
        Ranked(candidate, rank, parts, candidate.score if same else score)
        for rank, (candidate, parts, score) in enumerate(scored, 1)
    ]


def _candidate(
    given: Mapping[str, Any], rank: int, past: Past, names: Sequence[str]
) -> Candidate:
    parts = tuple(_number(given.get(name)) or 0.0 for name in names)
    own = given.get("rank")
    return Candidate(
        given["id"],
        own if isinstance(own, int) else rank,
        _number(given.get("score")) or 0.0,
        parts,
        given.get("shown") is not False,
        past.by_id.get(given["id"]),
        given["used"] if isinstance(given.get("used"), bool) else None,
    )


def _number(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if usable else None
