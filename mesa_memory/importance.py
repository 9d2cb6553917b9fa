"""How much an event matters: one grade from 1 to 5, or to 10.

All events of a step are graded in one request. A grade that does not depend on the
agent is shared: the same event heard by many agents with the same task and model is
graded once for the whole model run (``Claim``, ``Publish``, ``Await``).
"""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from mesa_memory.effects import Await, Claim, LLMRequest, Publish, Steps
from mesa_memory.flows import ask
from mesa_memory.records import MemoryRecord
from mesa_memory.replies import Unusable
from mesa_memory.schemas import GRADE_MAX, GRADE_MIN, SCALES, Grades

#: what ``importance=`` may be
type Importance = str | Callable[[MemoryRecord], float]

#: at most so many events go into one request
BATCH = 50

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


@lru_cache(maxsize=10_000)
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


def grade_together(
    lines: Sequence[str], request: Callable[[list[int]], LLMRequest], shared: bool
) -> Steps[list[int]]:
    """One grade per line, in as few requests as possible.

    Args:
        lines: one event each.
        request: makes the request for the lines at these positions.
        shared: use and give grades of identical events of other agents.
    """
    first: dict[str, int] = {}
    for position, line in enumerate(lines):
        first.setdefault(line, position)
    if not shared:
        found = yield from _graded(list(first.values()), request)
    else:
        found = yield from _graded_once(first, request)
    by_line = {line: found[position] for line, position in first.items()}
    return [by_line[line] for line in lines]


def _graded(
    positions: list[int], request: Callable[[list[int]], LLMRequest]
) -> Steps[dict[int, int]]:
    grades: dict[int, int] = {}
    for start in range(0, len(positions), BATCH):
        batch = positions[start : start + BATCH]
        grades |= zip(batch, (yield from _batch(request(batch), len(batch))))
    return grades


def _batch(request: LLMRequest, count: int) -> Steps[list[int]]:
    """The grades of one request; a wrong number of them is repaired once."""

    def counted(reply: Grades) -> list[int]:
        if len(reply.grades) != count:
            raise Unusable(f"{count} grades were asked for, {len(reply.grades)} came")
        return reply.grades

    return (yield from ask(request, 0, counted))


def _key(scope: str, line: str) -> str:
    """What a shared grade is kept under; short, as many are kept."""
    return hashlib.sha256(f"{scope}|{line}".encode()).hexdigest()[:32]


def _graded_once(
    first: dict[str, int], request: Callable[[list[int]], LLMRequest]
) -> Steps[dict[int, int]]:
    """Grades by position, taking those that another agent has or is getting."""
    sample = request(list(first.values())[:1])
    scope = f"{sample.model}|{sample.api_base}|{sample.system}"
    position_of = {_key(scope, line): position for line, position in first.items()}
    found: dict[int, int] = {}
    open_keys = list(position_of)
    while open_keys:
        claim: Any = yield Claim(tuple(open_keys))
        found |= {position_of[key]: grade for key, grade in claim.known.items()}
        if claim.ours:
            ours = [position_of[key] for key in claim.ours]
            grades = yield from _graded(ours, request)
            found |= grades
            yield Publish({key: grades[position_of[key]] for key in claim.ours})
        open_keys = []
        for key in claim.others:
            grade = yield Await(key)
            if grade is None:
                open_keys.append(key)
            else:
                found[position_of[key]] = grade
    return found
