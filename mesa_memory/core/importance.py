"""The scale of importance, and who may grade: a model, a rule or a function."""

import math
from collections.abc import Callable
from typing import Any

from mesa_memory.core.records import MemoryRecord

#: grades run from 1 (irrelevant) to 5 (critical), as in Mesa-LLM
GRADE_MIN, GRADE_MAX = 1, 5
#: the highest grade of each scale: of Mesa-LLM, and of Park et al. 2023
TOP_GRADES = (GRADE_MAX, 10)

#: what ``importance=`` may be
type Importance = str | Callable[[MemoryRecord], float]


def check(importance: Importance) -> Importance:
    """The argument as given.

    Raises:
        ValueError: if it is neither ``"llm"`` nor ``"offline"`` nor callable.
    """
    if importance in ("llm", "offline") or callable(importance):
        return importance
    raise ValueError(
        "importance must be 'llm', 'offline' or a function that takes a record and "
        f"returns a number on its scale, got {importance!r}"
    )


def check_scale(top: Any) -> int:
    """The highest grade as given.

    Raises:
        ValueError: if it is neither 5 (Mesa-LLM) nor 10 (Park et al. 2023).
    """
    if top not in TOP_GRADES or isinstance(top, bool):
        raise ValueError(f"importance_scale must be 5 or 10, got {top!r}")
    return top


def valid(grade: Any, source: str, top: int = GRADE_MAX) -> float:
    """A grade as given.

    Raises:
        ValueError: if it is not a number from 1 to ``top``.
    """
    number = isinstance(grade, int | float) and not isinstance(grade, bool)
    if not number or not math.isfinite(grade) or not GRADE_MIN <= grade <= top:
        raise ValueError(
            f"{source} must return a number from {GRADE_MIN} to {top}, got {grade!r}"
        )
    return grade
