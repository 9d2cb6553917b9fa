"""How much an event matters: one grade from 1 to 5.

All events of a step are graded in one request. A grade that does not depend on the
agent is shared: the same event heard by many agents with the same task and model is
graded once for the whole model run (``Claim``, ``Publish``, ``Await``).
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from mesa_memory.effects import Await, Claim, LLMRequest, Publish, Steps, ask
from mesa_memory.errors import BadReply
from mesa_memory.records import MemoryRecord
from mesa_memory.schemas import GRADE_MAX, GRADE_MIN, Grades

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
        f"returns a number from 1 to 5, got {importance!r}"
    )


def words(text: str) -> list[str]:
    """The lower-case words and numbers of ``text``."""
    return _WORD.findall(text.lower())


def offline_grade(kind: str, line: str, known: Iterable[str] = ()) -> int:
    """A grade without a model: kind, cue words and novelty.

    Args:
        known: words already met; an event that only repeats them is worth less.
    """
    grade = _cue_grade(kind, line)
    already = set(known)
    if already:
        found = set(words(line))
        grade -= bool(found) and len(found - already) / len(found) < 0.2
    return max(GRADE_MIN, min(GRADE_MAX, grade))


@lru_cache(maxsize=10_000)
def _cue_grade(kind: str, line: str) -> int:
    """A grade by kind and cues; summaries look at the same line again and again."""
    cues = len(CUES.intersection(words(line)))
    excited = "!" in line or "?" in line
    return _KIND_BASE.get(kind, 2) + min(cues, 2) + excited


def valid(grade: Any, source: str) -> float:
    """A grade as given.

    Raises:
        ValueError: if it is not a number from 1 to 5.
    """
    number = isinstance(grade, int | float) and not isinstance(grade, bool)
    if not number or not math.isfinite(grade) or not GRADE_MIN <= grade <= GRADE_MAX:
        raise ValueError(
            f"{source} must return a number from {GRADE_MIN} to {GRADE_MAX}, got "
            f"{grade!r}"
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
    reply: Grades = yield from ask(request, max_chars=0)
    if len(reply.grades) == count:
        return reply.grades
    problem = f"{count} grades were asked for, {len(reply.grades)} came"
    again = replace(request, repair=(reply.model_dump_json(), problem))
    reply = yield from ask(again, max_chars=0)
    if len(reply.grades) != count:
        raise BadReply(
            f"{count} grades were asked for, {len(reply.grades)} came, twice",
            purpose=request.purpose,
            agent=request.agent,
            step=request.step,
        )
    return reply.grades


def _graded_once(
    first: dict[str, int], request: Callable[[list[int]], LLMRequest]
) -> Steps[dict[int, int]]:
    """Grades by position, taking those that another agent has or is getting."""
    sample = request(list(first.values())[:1])
    scope = f"{sample.model}|{sample.api_base}|{sample.system}"
    position_of = {f"{scope}|{line}": position for line, position in first.items()}
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
