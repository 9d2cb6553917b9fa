"""The weights of a ranking, and the parts of a score.

score = w_relevance · relevance + w_importance · importance + w_recency · recency
        + w_time_match · time_match + w_term · term of each term that a user adds

Importance is ``(grade - 1) / 4`` and recency ``decay ** age``, both in 0..1 on an
absolute scale (Park et al. 2023 rescale them to the candidates by min-max, which makes
a difference of one step as large as one of a hundred). Relevance is made in ``index``.
A term of a user counts in ``recall``, in ``explain``, in what is recorded and in the
dashboard like the other parts.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.core.importance import GRADE_MAX, GRADE_MIN
from mesa_memory.core.records import MemoryRecord

#: when what was recalled counts as accessed
REFRESH_MODES = ("off", "throttled", "always")
#: scores closer than this are equal; double precision errs by far less
TIE_TOLERANCE = 1e-9

#: the parts of every score, and the other columns of a recorded recall
RESERVED_NAMES = frozenset({
    "relevance", "importance", "recency", "time_match", "superseded", "question",
    "dense", "lexical", "session", "id", "rank", "score", "shown", "used", "text", "step", "agent", "layer", "seq", "purpose", "query",
    "kind", "was", "change", "budget", "times", "repetitions",
})  # fmt: skip

#: parts of this package's own, which no published formula has
_NOT_PUBLISHED: dict[str, Any] = {
    "time_match": 0.0, "session_weights": (0.0, 0.0), "question_penalty": 0.0,
    "superseded": 0.0,
}  # fmt: skip

#: what a step may stand for, in seconds
SECONDS = {
    "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0,
    "month": 2629800.0, "year": 31557600.0,
}  # fmt: skip

#: the settings of a scoring that are weights, one or two each
_WEIGHTS = (
    "relevance", "importance", "recency", "speaker_boost", "time_match",
    "context_weights", "session_weights", "question_penalty", "superseded",
)  # fmt: skip


class RecallQuery(NamedTuple):
    """The query and the clock of a recall.

    Attributes:
        query: the text to find memories for; None if importance and recency count
            alone.
        now: the model's clock.
    """

    query: str | None
    now: float


class Term(ABC):
    """One term of a score; a subclass has a ``name`` and a value for each record.

    What it says must follow from the record, the question and the term's own
    attributes alone, so that a run can be repeated.

    Args:
        weight: what a value of 1 adds to a score; 0 or more. 0 turns the term off.

    Attributes:
        name: the term's name among the parts of a score: letters, digits and
            underscores, and not the name of a part that there is already.

    Raises:
        ValueError: for a weight that is negative or not finite.
    """

    name: str

    def __init__(self, weight: float = 1.0) -> None:
        if not 0 <= weight < math.inf:  # written so that NaN is refused, too
            raise ValueError(f"a term's weight must be 0 or more, got {weight}")
        self.weight = weight

    def __init_subclass__(cls, **given: Any) -> None:
        """Checks the name at once.

        Raises:
            TypeError: if the name of the class is not usable.
        """
        super().__init_subclass__(**given)
        name = getattr(cls, "name", None)
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or name in RESERVED_NAMES
        ):
            raise TypeError(
                f"{cls.__name__}.name must be a word of letters, digits and "
                f"underscores that no other part of a score has, got {name!r}. "
                f'Write, for example, name = "{cls.__name__.lower()}_term".'
            )

    @abstractmethod
    def value(self, record: MemoryRecord, question: RecallQuery) -> float:
        """The value of a record for a question, usually 0 to 1; a finite number."""

    def values(
        self, records: Sequence[MemoryRecord], question: RecallQuery
    ) -> np.ndarray | Sequence[float]:
        """``value`` of each record, in order; override it to reckon with arrays."""
        return [self.value(record, question) for record in records]


def checked_terms(terms: Any) -> tuple[Term, ...]:
    """Terms with names of their own, as a tuple.

    Raises:
        TypeError: if one is not a ``Term``.
        ValueError: if two have the same name.
    """
    several = (terms,) if isinstance(terms, Term) else tuple(terms)
    for term in several:
        if not isinstance(term, Term):
            raise TypeError(
                f"terms must be objects of subclasses of mesa_memory.retrieval.Term, got {term!r}"
            )
    names = [term.name for term in several]
    if len(set(names)) < len(names):
        raise ValueError(f"each term of a scoring needs a name of its own, got {names}")
    return several


def term_part(
    term: Term, records: Sequence[MemoryRecord], question: RecallQuery
) -> np.ndarray:
    """The values of a term, shape (records,), checked.

    Raises:
        ValueError: if they are not one finite number for each record.
    """
    given = term.values(records, question)
    try:
        part = np.array(given, dtype=float)
    except (TypeError, ValueError):
        part = np.zeros(0)
    if part.shape != (len(records),):
        raise ValueError(
            f"the term {term.name!r} must give a number for each of {len(records)} "
            f"records, got {given!r:.200}"
        )
    wrong = np.flatnonzero(~np.isfinite(part))
    if len(wrong):
        where = records[wrong[0]]
        raise ValueError(
            f"the term {term.name!r} must give finite numbers, got {part[wrong[0]]} for "
            f"the record {where.id!r}"
        )
    return part


@dataclass(frozen=True)
class Scoring:
    """Weights of the parts of a score, and how the parts are made.

    Attributes:
        relevance, importance, recency: weights, 0 or more.
        decay: factor per step since the last access, above 0 and at most 1.
        lexical_share: share of BM25 in relevance, 0 to 1; the rest is the cosine. With
            0, relevance is the cosine itself, not rescaled.
        context_weights: shares of the record before and after, of the same step, that
            are added to a record's relevance.
        speaker_boost: added to the relevance of records of a speaker whom the query
            names, and of records that speak of them.
        min_max: bring each part to 0..1 over the candidates by min-max.
        constant_value: what such a part counts if it is equal for all candidates.
        refresh: ``"off"``, ``"throttled"`` (at most once in ``refresh_every`` steps) or
            ``"always"``: whether being recalled counts as an access.
        refresh_every: see ``refresh``; at least 1.
        time_match: weight of the part of the same name: how near before the time that the
            query asks for something happened, see ``query``. With 0 the query is not
            read for time.
        terms: terms of your own, see ``Term``; one or several.
        session_weights: shares of the best record of a session, and of the session read
            as one text, that are added to the relevance of its records, see ``dialogue``.
        question_penalty: weight of the part ``question``, -1 for a record that ends with
            a question mark.
        superseded: weight of the part of the same name, which is below 0 for a record
            that is like a newer one of the same speaker, see ``superseded_part``. It
            counts only if the query asks for a time.

    Raises:
        ValueError: for a value outside these ranges, or two terms of one name.
        TypeError: for a term that is not a ``Term``.
    """

    relevance: float = 1.0
    importance: float = 0.2
    recency: float = 0.15
    decay: float = 0.995
    lexical_share: float = 0.4
    context_weights: tuple[float, float] = (0.3, 0.15)
    speaker_boost: float = 0.5
    min_max: bool = False
    constant_value: float = 0.0
    refresh: str = "off"
    refresh_every: float = 10
    time_match: float = 0.3
    terms: tuple[Term, ...] = ()
    session_weights: tuple[float, float] = (0.4, 0.3)
    question_penalty: float = 0.05
    superseded: float = 0.2

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", checked_terms(self.terms))
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay must be above 0 and at most 1, got {self.decay}")
        if not 0 <= self.lexical_share <= 1:
            raise ValueError(f"lexical_share must be 0 to 1, got {self.lexical_share}")
        for name in ("context_weights", "session_weights"):
            if len(getattr(self, name)) != 2:
                raise ValueError(
                    f"{name} must be two shares, got {getattr(self, name)}"
                )
        weights = {name: np.ravel(getattr(self, name)).tolist() for name in _WEIGHTS}
        # Written so that NaN is refused, too.
        if not all(0 <= w < math.inf for several in weights.values() for w in several):
            raise ValueError(f"weights must be 0 or more, got {weights}")
        if self.refresh not in REFRESH_MODES:
            raise ValueError(
                f"refresh must be one of {REFRESH_MODES}, got {self.refresh!r}"
            )
        if not self.refresh_every >= 1:
            raise ValueError(f"refresh_every must be >= 1, got {self.refresh_every}")

    def settings(self) -> dict[str, Any]:
        """All settings as plain data, as a run records them.

        Of the terms, name and weight, if there are any.
        """
        names = [each.name for each in fields(self) if each.name != "terms"]
        settings = {name: getattr(self, name) for name in names}
        if self.terms:
            settings["terms"] = [[term.name, term.weight] for term in self.terms]
        return settings

    @property
    def least(self) -> float:
        """The lowest score that is recalled."""
        return -math.inf

    @cached_property
    def timeless(self) -> "Scoring":
        """The same scoring, for queries that are not read for time."""
        return replace(self, time_match=0.0)

    @classmethod
    def generative_agents(cls, decay: float = 0.995) -> "Scoring":
        """The formula of Park et al. 2023: each part by min-max, weights 1.

        Relevance is the cosine, recency counts from the last access. The paper does not
        say what a part is that is equal for all; here it is 0.
        """
        return cls(
            *(1.0, 1.0, 1.0, decay), 0.0, (0.0, 0.0), 0.0, True,
            refresh="always", **_NOT_PUBLISHED,
        )  # fmt: skip

    @classmethod
    def act_r(
        cls,
        unit: str | float,
        decay: float = 0.5,
        noise: float = 0.25,
        threshold: float | None = None,
        *,
        spacing: float = 0.0,
        relevance: float = 1.0,
        importance: float = 0.0,
    ) -> "ActR":
        """Forgetting by base-level activation, see ``retrieval.activation``.

        The part ``recency`` is then the activation with its noise, and relevance adds to
        it as spreading activation does. A record whose score is below the threshold is
        not recalled; the record of the run and ``explain`` tell by how much. Biographies
        and facts are not recalled by activation, so they stay.

        Args:
            unit: what a step stands for, such as ``"day"``, or its seconds.
            decay: exponent of forgetting, above 0 and below 1.
            noise: scale of the logistic noise, drawn for each record and step by ``draw``.
            threshold: the lowest score that is recalled; None recalls all.
            spacing: how much faster a presentation decays that comes while the record is
                active (Pavlik and Anderson 2005, who fitted 0.217 with a decay of 0.177);
                with 0, spacing has no effect.
            relevance, importance: their weights.

        Raises:
            ValueError: for a value outside these ranges.
        """
        if isinstance(unit, str) and unit not in SECONDS:
            raise ValueError(
                f"unit must be one of {', '.join(SECONDS)} or the seconds of a step, "
                f"got {unit!r}"
            )
        seconds = SECONDS[unit] if isinstance(unit, str) else unit
        return ActR(
            *(relevance, importance, 1.0, decay), refresh="always", **_NOT_PUBLISHED,
            unit=seconds, noise=noise, threshold=threshold, spacing=spacing,
        )  # fmt: skip

    @classmethod
    def mesa_llm(cls, decay: float = 0.995) -> "Scoring":
        """Mesa-LLM 0.3.2: importance and recency by min-max; a part equal for all: 0.5."""
        return cls(
            0.0, 1.0, 1.0, decay, 0.0, (0.0, 0.0), 0.0, True, 0.5, **_NOT_PUBLISHED
        )

    @classmethod
    def relevance_only(cls) -> "Scoring":
        """Relevance alone; age and importance do not count."""
        return cls(importance=0.0, recency=0.0, time_match=0.0)

    @classmethod
    def without_query(cls, decay: float = 0.995) -> "Scoring":
        """Importance and recency, weights 1, on the absolute scale."""
        return cls(0.0, 1.0, 1.0, decay, time_match=0.0)


@dataclass(frozen=True)
class ActR(Scoring):
    """A scoring whose part ``recency`` is the activation, see ``Scoring.act_r``.

    Attributes:
        unit: seconds of a step.
        noise, threshold, spacing: see ``Scoring.act_r``.
    """

    unit: float = 1.0
    noise: float = 0.25
    threshold: float | None = None
    spacing: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.decay < 1 or self.min_max:
            raise ValueError(
                f"act_r needs a decay below 1 and no min_max, got {self.decay}, {self.min_max}"
            )
        if not 0 < self.unit < math.inf:
            raise ValueError(f"unit must be seconds above 0, got {self.unit}")
        if not (0 <= self.noise < math.inf and 0 <= self.spacing < math.inf):
            raise ValueError(
                f"noise and spacing must be 0 or more, got {self.noise}, {self.spacing}"
            )
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise ValueError(f"threshold must be finite or None, got {self.threshold}")

    @property
    def least(self) -> float:
        """The lowest score that is recalled."""
        return -math.inf if self.threshold is None else self.threshold


def importance_of(grade: float | None, top: float = GRADE_MAX) -> float:
    """A grade in 0..1; None, not graded yet, counts as the middle.

    Args:
        top: the highest grade there is.

    Raises:
        ValueError: for NaN and infinity.
    """
    part = 0.5 if grade is None else (grade - GRADE_MIN) / (top - GRADE_MIN)
    if not math.isfinite(part):
        raise ValueError(f"a grade must be a finite number or None, got {grade}")
    return part


def recency_part(accessed: np.ndarray, now: float, decay: float) -> np.ndarray:
    """``decay ** age`` of each; later than ``now`` counts as now."""
    part = np.minimum(accessed - now, 0.0)
    part *= -math.log(decay)
    return np.exp(part)


def asked_part(steps: np.ndarray, clock: float, decay: float) -> np.ndarray:
    """``decay ** (clock - step)`` of each; 0 for records later than ``clock``."""
    part = recency_part(steps, clock, decay)
    part[steps > clock] = 0.0
    return part


def superseded_part(
    vectors: np.ndarray, steps: np.ndarray, who: np.ndarray, clock: float, chance: float
) -> np.ndarray:
    """The likeness of each record to a newer one of its speaker: 0, or down to -1.

    Newer means later, and not later than the time asked for. A cosine halfway between
    ``chance`` and 1 counts 0, equal texts -1.

    Args:
        vectors: shape (n, dim), of length 1.
        steps, who: step and speaker of each.
        clock: the time asked for.
        chance: the mean cosine of any two records.
    """
    rows = vectors.astype(float)
    alike = (rows @ rows.T - chance) / (1 - chance)
    newer = (steps > steps[:, None]) & (steps <= clock) & (who == who[:, None])
    return -np.where(newer, np.maximum(2 * alike - 1, 0), 0).max(axis=1, initial=0)


def min_max(values: np.ndarray, flat: float = 0.0, top: float = 1.0) -> np.ndarray:
    """``values`` brought to 0..top; all ``flat`` if they differ by ``TIE_TOLERANCE`` or less."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    if not high - low > TIE_TOLERANCE:
        return np.full(len(values), flat)
    scaled = values - low
    scaled *= top / (high - low)
    return scaled


def mixture(dense: np.ndarray, lexical: np.ndarray, share: float) -> np.ndarray:
    """Relevance of each candidate by itself, a new array.

    Args:
        dense, lexical: cosine and BM25 of each.
        share: that of BM25; with 0, relevance is the cosine as it is.
    """
    if not share:
        return dense.copy()
    mixed = min_max(dense, top=1 - share)
    mixed += min_max(lexical.astype(dense.dtype, copy=False), top=share)
    return mixed


def top_k(scored: np.ndarray, k: int | None, order: np.ndarray) -> np.ndarray:
    """Positions of the ``k`` highest scores, highest first.

    Scores are compared in units of ``TIE_TOLERANCE``. Ties go to the lower ``order``, then to
    the lower position.

    Args:
        scored: one score for each, no NaN.
        k: 0 or more; None is all.
    """
    count = len(scored)
    if k == 0 or not count:
        return np.zeros(0, dtype=np.intp)
    k = count if k is None else min(k, count)
    if k < count:  # the best and the next one
        near = scored.argpartition(count - k - 1)[count - k - 1 :]
    else:
        near = np.arange(count)
    ranked = near[(-scored[near]).argsort()]
    falling = scored[ranked]
    if len(near) == 1 or (falling[:-1] - falling[1:]).min() > TIE_TOLERANCE:
        return ranked[:k]
    if k < count:  # and whatever may be equal to these
        near = (scored >= falling[k - 1] - TIE_TOLERANCE).nonzero()[0]
    ranked = np.lexsort((order[near], np.rint(scored[near] / -TIE_TOLERANCE)))
    return near[ranked[:k]]
