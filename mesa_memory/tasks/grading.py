"""Asks a model how much events matter, and keeps every grade that can be trusted.

All events of a step are graded in one request. A reply that leaves some out, or gives
some an invalid grade, keeps its good grades, and only the rest is asked for again. A reply that cannot be told apart (33 grades for 34 events) is not guessed at:
its events are asked for in halves, down to single ones.

A grade that does not depend on the agent is shared: the same event heard by many agents
with the same task and model is graded once for the whole model run (``Claim``,
``Publish``, ``Await``).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core.replies import Unusable
from mesa_memory.core.requests import Await, Claim, Flow, LLMRequest, Publish
from mesa_memory.errors import BadReply, LLMError
from mesa_memory.tasks.grade import GRADE, Grades, by_place

#: the most events in one request
BATCH = 40
#: how many single events in a row may fail before the others wait, too
HARD = 2

#: makes the request for the events at these places
type Request = Callable[[list[int]], LLMRequest]


@dataclass
class Graded:
    """What came of grading some events.

    Attributes:
        grades: by place; events that are not in it have no grade yet.
        problem: why some have none: the last ``BadReply``, or what ended the asking.
    """

    grades: dict[int, float] = field(default_factory=dict)
    problem: LLMError | None = None


def grade_together(
    lines: Sequence[str], request: Request, shared: bool
) -> Flow[Graded]:
    """Grades lines in as few requests as possible.

    Args:
        lines: one event each.
        request: makes the request for the lines at these places.
        shared: use and give grades of identical events of other agents.
    """
    first: dict[str, int] = {}
    for place, line in enumerate(lines):
        first.setdefault(line, place)
    outcome = Graded()
    if shared:
        yield from _graded_once(first, request, outcome)
    else:
        yield from _graded(list(first.values()), request, outcome)
    for place, line in enumerate(lines):
        if first[line] in outcome.grades:
            outcome.grades[place] = outcome.grades[first[line]]
    return outcome


def _graded(places: Sequence[int], request: Request, outcome: Graded) -> Flow[None]:
    """Grades what it can, batch by batch."""
    batches = [list(places[i : i + BATCH]) for i in range(0, len(places), BATCH)]
    for batch in batches:
        try:
            yield from _in_pieces(batch, request, outcome)
        except LLMError as error:
            outcome.problem = error
            return


def _in_pieces(batch: list[int], request: Request, outcome: Graded) -> Flow[None]:
    """Grades a batch, in halves where a whole gets no usable reply.

    Raises:
        BadReply: if the model seems to be unable to grade anything at all.
        LLMError: what ended the asking.
    """
    pieces, hard, left_out = [batch], 0, False
    while pieces:
        piece = pieces.pop()
        # Some models leave the last one out: an event that has its grade stands there.
        beside = [next(iter(outcome.grades))] if left_out else []
        left_out = False
        try:
            found = yield from _ask(piece, beside, request, repairs=piece is batch)
        except BadReply as error:
            outcome.problem = error
            if len(piece) > 1:
                half = (len(piece) + 1) // 2
                pieces += [piece[half:], piece[:half]]
                continue
            hard += 1
            if hard == HARD:
                raise
            continue
        hard = 0
        outcome.grades |= found
        if rest := [place for place in piece if place not in found]:
            pieces.append(rest)
            left_out = True


def _ask(
    piece: list[int], beside: list[int], request: Request, repairs: bool
) -> Flow[dict[int, float]]:
    """The grades that one reply gives the events at these places."""
    asked = piece + beside

    def known(reply: Grades) -> dict[int, float]:
        found = by_place(reply, len(asked))
        mine = {place: found[i] for i, place in enumerate(piece) if i in found}
        if not mine:
            raise Unusable(f"no grade for the events 1 to {len(piece)} was in it")
        return mine

    return (yield from GRADE.ask(request(asked), known, repairs))


def _key(scope: str, line: str) -> str:
    """What a shared grade is kept under; short, as many are kept."""
    return hashlib.sha256(f"{scope}|{line}".encode()).hexdigest()[:32]


def _graded_once(
    first: dict[str, int], request: Request, outcome: Graded
) -> Flow[None]:
    """Grades, taking those that another agent has or is getting."""
    sample = request(list(first.values())[:1])
    scope = f"{sample.model}|{sample.api_base}|{sample.system}"
    place_of = {_key(scope, line): place for line, place in first.items()}
    found, open_keys = outcome.grades, list(place_of)
    while open_keys:
        claim: Any = yield Claim(tuple(open_keys))
        found |= {place_of[key]: grade for key, grade in claim.known.items()}
        if claim.ours:
            ours = [place_of[key] for key in claim.ours]
            yield from _graded(ours, request, outcome)
            # What was not graded is given back, for others to try.
            yield Publish({key: found.get(place_of[key]) for key in claim.ours})
        open_keys = []
        for key in claim.others:
            grade = yield Await(key)
            if grade is not None:
                found[place_of[key]] = grade
            elif outcome.problem is None:
                open_keys.append(key)
