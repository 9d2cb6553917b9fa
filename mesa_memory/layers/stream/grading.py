"""Grades the importance of events, by model, by rule or by function.

Of a model's grades every one is kept that can be trusted. All events of a step are graded
in one request, at most 40 in one. A reply that leaves some out, or gives some an invalid
grade, keeps its good grades, and only the rest is asked for again, in lines. A reply that cannot be told
apart (33 grades for 34 events) is not guessed at: its events are asked for again, as
numbered lines. A server that twice in a row does not keep to the schema is asked in lines
from then on. Only what gets no grade at all in lines, or is too long for the model, is
asked for in halves. An event that gets no grade alone is shown twice in one request, for
models that always leave the last one out; then it counts as hard, and is asked for alone,
after all others.

A grade that does not depend on the agent is shared: the same event heard by many agents
with the same task and model is graded once for the whole model run (``AcquireShared``,
``PublishShared``, ``AwaitShared``).
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core import importance as grading
from mesa_memory.core.content import words
from mesa_memory.core.importance import GRADE_MAX, Importance
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.requests import (
    AcquireShared,
    AwaitShared,
    Flow,
    LLMRequest,
    PublishShared,
)
from mesa_memory.core.text.replies import Unusable
from mesa_memory.errors import BadReply, LLMError, PromptTooLong
from mesa_memory.layers.context import LayerContext
from mesa_memory.tasks import GRADE
from mesa_memory.tasks.grade import Grades, by_place, offline_grade

#: number of newest events against which grades by rule tell what is new
KNOWN_EVENTS = 20
#: the most events in one request
MAX_EVENTS = 40
#: the most characters of events in one request
REQUEST_CHARS = 24_000
#: single events in a row that may fail before a model that has graded nothing yet is
#: asked no more
HARD = 5
#: events in a row that fail again before the others wait for the next step
STILL_HARD = 2

#: replies in a row that do not keep to the schema before lines are asked for
MISFITS = 2

#: makes the request for the events at these places, in lines if True
type Request = Callable[[list[int], bool], LLMRequest]


@dataclass(frozen=True)
class Doubts:
    """Experience with earlier replies that decides the form of a request.

    Attributes:
        hard: places of events that got no grade when they were asked for alone.
        probe: the model has graded nothing lately: one event shows whether it does.
        misfits: a server, and its replies in a row that did not keep to the schema.
    """

    hard: Collection[int] = ()
    probe: bool = False
    misfits: tuple[str, int] = ("", 0)


NO_DOUBTS = Doubts()


@dataclass
class Graded:
    """The result of grading some events.

    Attributes:
        grades: by place; events that are not in it are not graded yet.
        hard: places of events that got no grade, though asked for alone.
        problem: why some are ungraded: the last ``BadReply``, or the final error.
        misfits: see ``Doubts``.
    """

    grades: dict[int, float] = field(default_factory=dict)
    hard: set[int] = field(default_factory=set)
    problem: LLMError | None = None
    misfits: tuple[str, int] = ("", 0)


class Grader:
    """Says how much events matter to an agent.

    Args:
        importance: ``"llm"``, ``"offline"``, or a function of a record.
        top: the highest grade, 5 or 10; the lowest is 1.
        shown: how many of the newest events the model is shown; grades are then the
            agent's own and not shared between agents.

    Raises:
        ValueError: for a wrong importance or scale.
    """

    context: LayerContext

    def __init__(
        self, importance: Importance = "llm", top: int = GRADE_MAX, shown: int = 0
    ) -> None:
        self.importance = grading.check(importance)
        self.top, self.shown = grading.check_scale(top), shown

    @property
    def asks(self) -> bool:
        """True if a model is asked."""
        return self.importance == "llm"

    def grade(
        self,
        events: Sequence[MemoryRecord],
        newest: Any = lambda count: [],
        doubts: Doubts = NO_DOUBTS,
    ) -> Flow[Graded]:
        """A grade for each event, as far as there is one.

        Args:
            newest: takes a number; gives that many newest graded events as lines, oldest
                first.
            doubts: what earlier replies say of how to ask.
        """
        rate, top = self.importance, self.top
        if callable(rate):
            rated = [grading.valid(rate(e), "importance()", top) for e in events]
            return Graded(dict(enumerate(rated)))
        lines = [self.context.line(e) for e in events]
        if rate == "offline":
            known = words(" ".join(newest(KNOWN_EVENTS)))
            rated = [
                offline_grade(event.kind, line, known, top)
                for event, line in zip(events, lines, strict=True)
            ]
            return Graded(dict(enumerate(rated)))
        kinds = [event.kind for event in events]
        context = newest(self.shown)

        def inputs(places: Iterable[int], in_lines: bool = False) -> dict[str, Any]:
            chosen = [(kinds[p], lines[p]) for p in places]
            asked = {"events": chosen, "top": top, "context": context}
            return {**asked, "in_lines": True} if in_lines else asked

        def request(places: list[int], in_lines: bool) -> LLMRequest:
            return self.context.request_for(GRADE, **inputs(places, in_lines))

        def scope() -> str:
            return self.context.scope_of(GRADE, inputs(range(len(lines))[:1]))

        # Own conclusions come when their reply comes; shared, it would depend on that
        # whose request the others wait for.
        own = any(event.origin == DERIVED for event in events)
        shared = not self.shown and not own
        asking = _Asking(lines, request, doubts, self._server())
        return (yield from _grade_together(asking, scope if shared else None))

    def _server(self) -> str:
        """Names the model and its address, which may hold a secret."""
        named = "{} {}".format(*self.context.runtime.target()).encode()
        return hashlib.sha256(named).hexdigest()[:16]


def _grade_together(asking: "_Asking", scope: Callable[[], str] | None) -> Flow[Graded]:
    """Grades lines in as few requests as possible, the first ones first.

    Args:
        scope: the part of a request that is equal for all agents that share grades of
            identical events; None shares none.
    """
    lines = asking.lines
    first: dict[str, int] = {}
    for place, line in enumerate(lines):
        first.setdefault(line, place)
    if scope is not None:
        yield from _graded_once(first, asking, scope())
    else:
        yield from asking.grade(list(first.values()))
    outcome = asking.outcome
    for place, line in enumerate(lines):
        if first[line] in outcome.grades:
            outcome.grades[place] = outcome.grades[first[line]]
        elif first[line] in outcome.hard:
            outcome.hard.add(place)
    return outcome


class _Asking:
    """Asks one model about the events of one agent.

    Args:
        lines: one event each.
        request: makes the request for the lines at these places.
        doubts: what earlier replies say.
        server: names the model and its address.
    """

    def __init__(
        self, lines: Sequence[str], request: Request, doubts: Doubts, server: str
    ) -> None:
        self.lines, self.request, self.doubts = lines, request, doubts
        self._server = server
        self.outcome = Graded(misfits=doubts.misfits)

    def grade(self, places: Sequence[int]) -> Flow[None]:
        """Grades what it can of the events at these places, batch by batch."""
        easy = [place for place in places if place not in self.doubts.hard]
        probe = easy[:1] if self.doubts.probe else []
        batches = [probe] if probe else []
        batches += self._batches(easy[len(probe) :])
        try:
            for batch in batches:
                yield from self._in_pieces(batch)
                if batch is probe and probe[0] in self.outcome.hard:
                    return
            yield from self._one_by_one([p for p in places if p in self.doubts.hard])
        except LLMError as error:
            self.outcome.problem = error

    def _batches(self, places: Sequence[int]) -> Iterator[list[int]]:
        """The places in order, in parts that each fit into one request."""
        batch: list[int] = []
        size = 0
        for place in places:
            size += len(self.lines[place])
            if batch and (len(batch) == MAX_EVENTS or size > REQUEST_CHARS):
                yield batch
                batch, size = [], len(self.lines[place])
            batch.append(place)
        if batch:
            yield batch

    def _in_pieces(self, batch: list[int]) -> Flow[None]:
        """Grades a batch; in halves only what is too long, or gets no grade at all.

        Raises:
            BadReply: if the model seems to be unable to grade anything at all.
            LLMError: what ended the asking.
        """
        outcome = self.outcome
        pieces, hard, left_out = [batch], 0, False
        while pieces:
            piece = pieces.pop()
            # Some models leave the last one out: an event that has its grade stands there.
            beside = [next(iter(outcome.grades))] if left_out else []
            try:
                if piece is batch:
                    found = yield from self._whole(batch)
                else:
                    found = yield from self._ask(piece, beside, left_out)
            except (BadReply, PromptTooLong) as error:
                left_out = False
                if len(piece) > 1:
                    if isinstance(error, BadReply):
                        outcome.problem = error
                    half = (len(piece) + 1) // 2
                    pieces += [piece[half:], piece[:half]]
                    continue
                if isinstance(error, PromptTooLong):
                    raise
                outcome.problem = error
                found = yield from self._shown_twice(piece)
                hard += not found
                if hard == HARD and not outcome.grades:
                    raise
            outcome.grades |= found
            left_out = False
            if outcome.hard.issuperset(piece):
                continue
            if rest := [place for place in piece if place not in found]:
                pieces.append(rest)
                left_out = True

    def _whole(self, batch: list[int]) -> Flow[dict[int, float]]:
        """The grades of a batch, in lines if the reply to the first request is unusable.

        A server that has twice in a row not given each event its grade, as the schema
        demands, is asked in lines from then on.
        """
        in_lines = self._misfits() >= MISFITS
        try:
            found = yield from self._ask(batch, [], in_lines)
        except BadReply as error:
            self.outcome.problem = error
            self._count(0 if in_lines else self._misfits() + 1)
            return (yield from self._ask(batch, [], in_lines=True))
        if not in_lines:
            self._count(0 if len(found) == len(batch) else self._misfits() + 1)
        return found

    def _misfits(self) -> int:
        server, count = self.outcome.misfits
        return count if server == self._server else 0

    def _count(self, misfits: int) -> None:
        self.outcome.misfits = (self._server, misfits)

    def _shown_twice(self, piece: list[int]) -> Flow[dict[int, float]]:
        """The grade of a single event beside itself; without one it counts as hard."""
        try:
            return (yield from self._ask(piece, piece))
        except BadReply as error:
            self.outcome.problem = error
            self.outcome.hard.update(piece)
            return {}

    def _one_by_one(self, places: Sequence[int]) -> Flow[None]:
        """Tries events again that got no grade alone, until some still get none."""
        failed = 0
        for place in places:
            try:
                self.outcome.grades |= yield from self._ask([place], [])
                failed = 0
            except BadReply as error:
                self.outcome.problem = error
                self.outcome.hard.add(place)
                failed += 1
                if failed == STILL_HARD:
                    return

    def _ask(
        self, piece: list[int], beside: list[int], in_lines: bool = False
    ) -> Flow[dict[int, float]]:
        """The grades that one reply gives the events at these places."""
        asked = piece + beside

        def known(reply: Grades) -> dict[int, float]:
            found = by_place(reply, len(asked))
            grades = ((asked[i], found[i]) for i in sorted(found, reverse=True))
            mine = {place: grade for place, grade in grades if place in piece}
            if not mine:
                raise Unusable(f"no grade for the events 1 to {len(piece)} was in it")
            return mine

        return (yield from GRADE.ask(self.request(asked, in_lines), known, False))


def _keys(scope: str, lines: Iterable[str]) -> list[str]:
    """Short keys of the shared grades of lines."""
    begun = hashlib.sha256(f"{scope}|".encode())
    keys = []
    for line in lines:
        key = begun.copy()
        key.update(line.encode())
        keys.append(key.hexdigest()[:32])
    return keys


def _graded_once(first: dict[str, int], asking: _Asking, scope: str) -> Flow[None]:
    """Requests grades, and shares them with other agents that need the same."""
    place_of = dict(zip(_keys(scope, first), first.values(), strict=True))
    outcome, open_keys = asking.outcome, list(place_of)
    found = outcome.grades
    while open_keys:
        claim: Any = yield AcquireShared(tuple(open_keys))
        found |= {place_of[key]: grade for key, grade in claim.known.items()}
        if claim.ours:
            yield from asking.grade([place_of[key] for key in claim.ours])
            # What was not graded is given back, for others to try.
            yield PublishShared({key: found.get(place_of[key]) for key in claim.ours})
        open_keys = []
        for key in claim.others:
            grade = yield AwaitShared(key)
            if grade is not None:
                found[place_of[key]] = grade
            elif outcome.problem is None:
                open_keys.append(key)
