"""Ranks what an agent remembers: recency and importance of each record.

score = w_importance · (importance - 1) / 4 + w_recency · decay ** age

Both parts lie in 0..1 on an absolute scale (Park et al. 2023 rescale them to the
candidates by min-max, which makes a difference of one step as large as one of a
hundred).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mesa_memory.schemas import GRADE_MAX, GRADE_MIN

#: what an event counts as until it is graded: the middle of the scale
UNGRADED = (GRADE_MIN + GRADE_MAX) / 2


@dataclass(frozen=True)
class Scoring:
    """Weights of the parts of a score.

    Attributes:
        importance, recency: weights, 0 or more.
        decay: factor per step of age, above 0 and at most 1.
    """

    importance: float = 1.0
    recency: float = 1.0
    decay: float = 0.995

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay must be above 0 and at most 1, got {self.decay}")
        if self.importance < 0 or self.recency < 0:
            raise ValueError(
                "weights must be 0 or more, got "
                f"importance={self.importance}, recency={self.recency}"
            )


def scores(
    grades: Sequence[float | None],
    steps: Sequence[float],
    now: float,
    scoring: Scoring,
) -> np.ndarray:
    """The score of each record, shape (n,), in the order given.

    Args:
        grades: importance of each, 1 to 5; None counts as the middle.
        steps: when each was made; later than ``now`` counts as now.
    """
    graded = np.array([UNGRADED if g is None else g for g in grades], dtype=float)
    ages = np.maximum(0.0, now - np.array(steps, dtype=float))
    importance = (graded - GRADE_MIN) / (GRADE_MAX - GRADE_MIN)
    return scoring.importance * importance + scoring.recency * scoring.decay**ages


def top_k(scored: np.ndarray, k: int) -> list[int]:
    """Positions of the ``k`` highest scores, highest first; ties go to the older.

    Raises:
        ValueError: if k is negative.
    """
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}")
    return np.argsort(-scored, kind="stable")[:k].tolist()


def lowest(scored: np.ndarray, count: int) -> list[int]:
    """Positions of the ``count`` lowest scores; ties go to the older."""
    return np.argsort(scored, kind="stable")[: max(0, count)].tolist()
