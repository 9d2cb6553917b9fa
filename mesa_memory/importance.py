"""How much an event matters: one grade from 1 to 5, or to 10, by rule or by function.

``grader`` asks a model for grades.
"""

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from mesa_memory.records import MemoryRecord
from mesa_memory.schemas import GRADE_MAX, GRADE_MIN, SCALES

#: what ``importance=`` may be
type Importance = str | Callable[[MemoryRecord], float]

#: words that mark an event as one to remember; counted, not weighed
CUES = frozenset(
    [
        "accident",
        "afraid",
        "agree",
        "alarm",
        "alliance",
        "angry",
        "arrest",
        "attack",
        "betray",
        "break",
        "broke",
        "buy",
        "cancel",
        "correction",
        "crash",
        "crisis",
        "danger",
        "dead",
        "deal",
        "death",
        "decide",
        "deny",
        "die",
        "election",
        "emergency",
        "enemy",
        "false",
        "fight",
        "fire",
        "friend",
        "gift",
        "hate",
        "help",
        "hurt",
        "important",
        "kill",
        "leave",
        "lie",
        "lost",
        "love",
        "marry",
        "meet",
        "never",
        "new",
        "offer",
        "pay",
        "peace",
        "plan",
        "police",
        "price",
        "promise",
        "protest",
        "quit",
        "refuse",
        "rumor",
        "rumour",
        "safe",
        "secret",
        "sell",
        "sick",
        "stole",
        "strike",
        "threat",
        "true",
        "trust",
        "urgent",
        "vote",
        "war",
        "warn",
        "win",
    ]
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
#: everyday kinds weigh less than what somebody says or decides
_KIND_BASE = {"observation": 1, "action": 2, "plan": 2, "plan_execution": 1}


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
    if top not in SCALES or isinstance(top, bool):
        raise ValueError(f"importance_scale must be 5 or 10, got {top!r}")
    return top


def words(text: str) -> list[str]:
    """The lower-case words and numbers of ``text``."""
    return _WORD.findall(text.lower())


def offline_grade(
    kind: str, line: str, known: Iterable[str] = (), top: int = GRADE_MAX
) -> int:
    """A grade without a model: kind, cue words and novelty.

    Args:
        known: words already met; an event that only repeats them is worth less.
        top: the highest grade.
    """
    grade = _cue_grade(kind, line)
    already = set(known)
    if already:
        found = set(words(line))
        grade -= bool(found) and len(found - already) / len(found) < 0.2
    within = max(GRADE_MIN, min(GRADE_MAX, grade)) - GRADE_MIN
    return GRADE_MIN + round(within * (top - GRADE_MIN) / (GRADE_MAX - GRADE_MIN))


@lru_cache(maxsize=2_000)
def _cue_grade(kind: str, line: str) -> int:
    """A grade by kind and cues; summaries look at the same line again and again."""
    cues = len(CUES.intersection(words(line)))
    excited = "!" in line or "?" in line
    return _KIND_BASE.get(kind, 2) + min(cues, 2) + excited


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
