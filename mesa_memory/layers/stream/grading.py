"""Grades the importance of events, by model, by rule or by function.

Of a model's grades every one is kept that can be trusted. All events of a step are graded
in one request, at most 40 in one. A reply that leaves some out, or gives some an invalid
grade, keeps its good grades, and only the rest is asked for again, in lines. A reply that
cannot be told apart (33 grades for 34 events) is not guessed at: its events are asked for
again, as numbered lines. A server that twice in a row does not keep to the schema is asked
in lines from then on. Only what gets no grade at all in lines, or is too long for the
model, is asked for in halves. An event that gets no grade alone is shown twice in one
request, for models that always leave the last one out, and later after all new ones.

A grade that does not depend on the agent is shared: the same event heard by many agents
with the same task and model is graded once for the whole model run (``AcquireShared``,
``PublishShared``, ``AwaitShared``).
"""

import hashlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mesa_memory.core import importance as grading
from mesa_memory.core import render
from mesa_memory.core.content import words
from mesa_memory.core.importance import GRADE_MAX, Importance
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import AcquireShared, AwaitShared, Flow, PublishShared
from mesa_memory.core.text.replies import Unusable
from mesa_memory.core.text.vocabulary import vocabulary
from mesa_memory.core.validate import checked_int
from mesa_memory.errors import BadReply, ContentFiltered, LLMError, PromptTooLong
from mesa_memory.layers.view import StepView
from mesa_memory.tasks import GRADE
from mesa_memory.tasks.base import in_batches
from mesa_memory.tasks.grade import Grades, by_place, offline_grade

#: number of newest events against which grades by rule tell what is new
KNOWN_EVENTS = 20
#: the fewest events in one request, if nothing else is said
GRADED_TOGETHER = 4
#: the most events in one request
MAX_EVENTS = 40
#: requests in a row that may fail before a model that has graded nothing yet is asked no
#: more, and after a step in which it has graded nothing
MAX_FAILURES, MAX_FAILURES_UNABLE = 12, 2
#: replies in a row that do not keep to the schema before lines are asked for
MAX_MISFITS = 2

#: gives the inputs of a request for the events at these places, in lines if True
type Inputs = Callable[[list[int], bool], dict[str, Any]]


@dataclass
class Graded:
    """The result of grading some events.

    Attributes:
        events: as given.
        grades: by place; events that are not in it are not graded yet.
        problem: why some are ungraded: the last ``BadReply``, or the final error.
    """

    events: Sequence[MemoryRecord]
    grades: dict[int, float] = field(default_factory=dict)
    problem: LLMError | None = None


class Grader:
    """Says how much events matter to an agent.

    Args:
        importance: ``"llm"``, ``"offline"``, or a function of a record.
        top: the highest grade, 5 or 10; the lowest is 1.
        shown: how many of the newest events the model is shown; grades are then the
            agent's own and not shared between agents.
        together: the fewest events in a request to the model; fewer wait for others, or
            for the next recall. 1 grades each step.

    Attributes:
        unable: True if the model graded nothing when it was asked last.
        misfits: a server, and its replies in a row that did not keep to the schema.

    Raises:
        ValueError: for a wrong importance or scale.
    """

    def __init__(
        self,
        importance: Importance = "llm",
        top: int = GRADE_MAX,
        shown: int = 0,
        together: int = GRADED_TOGETHER,
    ) -> None:
        self.importance = grading.check(importance)
        self.top, self.shown = grading.check_scale(top), shown
        self.together = checked_int("together", together)
        self.unable, self.misfits = False, ("", 0)

    def grade(
        self,
        view: StepView,
        events: Sequence[MemoryRecord],
        newest: Any = lambda count, voice: [],
        tried: Container[str] = (),
    ) -> Flow[Graded]:
        """A grade for each event, as far as there is one.

        Args:
            newest: takes a number and a voice; gives that many newest graded events as
                lines in that voice, oldest first.
            tried: ids of events that got no grade before.

        Raises:
            ContentFiltered: if a provider's filter refuses an event.
        """
        rate, top = self.importance, self.top
        if callable(rate):
            rated = [grading.valid(rate(e), "importance()", top) for e in events]
            return Graded(events, dict(enumerate(rated)))
        unnamed, voice = self.unnamed(view), view.voice
        if unnamed:  # what many heard is told to all in the same words
            voice = replace(voice, owner=None)
        limit = view.limits.event_chars
        lines = [render.event_text(e.kind, e.content, limit, voice) for e in events]
        told = [(event.kind, line) for event, line in zip(events, lines, strict=True)]
        if rate == "offline":
            known = words(" ".join(newest(KNOWN_EVENTS, voice)))
            cues = vocabulary(voice.wording.language)
            rated = [offline_grade(*each, known, top, cues) for each in told]
            return Graded(events, dict(enumerate(rated)))
        shared = {"top": top, "context": newest(self.shown, voice), **unnamed}

        def inputs(places: list[int], in_lines: bool) -> dict[str, Any]:
            asked = {"in_lines": True} if in_lines else {}
            return {**asked, "events": [told[p] for p in places], **shared}

        hard = {place for place, event in enumerate(events) if event.id in tried}
        target = view.model_choice.target(GRADE.purpose)
        server = hashlib.sha256("{} {}".format(*target).encode()).hexdigest()[:16]
        session = (view, lines, inputs, hard, self, Graded(events), server)
        asking = GradeSession(*session)
        # Grades asked for by a recall are not shared: a recall comes at any moment of a
        # step, so its time would decide which request the others wait for.
        if self.shown or view.recalling:
            yield from asking.grade(list(asking.first.values()))
        else:
            system = view.system_for(GRADE, inputs([0], False))
            yield from _graded_once(asking, "|".join([*map(str, target), system]))
        found, problem = asking.outcome.grades, asking.outcome.problem
        if isinstance(problem, ContentFiltered):
            raise problem
        for place, line in enumerate(lines):
            if (first := asking.first[line]) in found:
                found[place] = found[first]
        if isinstance(problem, BadReply | None):
            self.unable = not found
        return asking.outcome

    def waits(self, count: int) -> bool:
        """True if so few events wait for others before a request is worth it."""
        return self.importance == "llm" and count < self.together

    @property
    def own_top(self) -> int:
        """The highest importance that a model gives its own insights; 0 if none."""
        return self.top if self.importance == "llm" else 0

    def of_insight(
        self, view: StepView, text: str, given: int | None
    ) -> tuple[float | None, dict[str, str]]:
        """The importance of an insight, and a mark if the model did not say it.

        Without a model that grades, the importance is left open, as for a new event.
        """
        if given is not None or not self.own_top:
            return given, {}
        cues = vocabulary(view.wording.language)
        return offline_grade("reflection", text, (), self.top, cues), {"graded": "rule"}

    def unnamed(self, view: StepView) -> dict[str, str]:
        """The name to leave out of requests: agents without a role share their grades."""
        return {} if view.request_inputs["role"] else {"me": ""}


@dataclass
class GradeSession:
    """Asks one model about the events of one agent.

    Attributes:
        lines: one event each.
        inputs: gives the inputs of a request for the lines at these places.
        hard: places of events that got no grade before.
        grader: knows how the model has replied.
        outcome: is filled.
        server: names the model and its provider, whose address may hold a secret.
        first: place of the first event with a line.
    """

    view: StepView
    lines: Sequence[str]
    inputs: Inputs
    hard: set[int]
    grader: Grader
    outcome: Graded
    server: str
    _failures: int = 0

    def __post_init__(self) -> None:
        self.first: dict[str, int] = {}
        for place, line in enumerate(self.lines):
            self.first.setdefault(line, place)
        self._allowed = MAX_FAILURES_UNABLE if self.grader.unable else MAX_FAILURES

    def grade(self, places: Sequence[int]) -> Flow[None]:
        """Grades the events at these places as far as possible, batch by batch."""
        new = [place for place in places if place not in self.hard]
        hard = [place for place in places if place in self.hard]
        failed = 0
        try:
            for batch in in_batches(new, lambda p: len(self.lines[p]), MAX_EVENTS):
                yield from self._in_pieces(batch)
            while hard and failed < MAX_FAILURES_UNABLE:
                failed = 0 if (yield from self._alone(hard.pop(0))) else failed + 1
        except LLMError as error:
            self.outcome.problem = error

    def _in_pieces(self, batch: list[int]) -> Flow[None]:
        """Grades a batch; in halves only if it is too long, or without any grade.

        Raises:
            BadReply: if the model seems to be unable to grade anything at all.
            LLMError: what ended the asking.
        """
        outcome, pieces, left_out = self.outcome, [batch], False
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
                self._failed(error, alone=len(piece) == 1)
                if len(piece) == 1:
                    yield from self._alone(piece[0])
                else:
                    half = (len(piece) + 1) // 2
                    pieces += [piece[half:], piece[:half]]
                continue
            outcome.grades |= found
            rest = [place for place in piece if place not in found]
            if left_out := bool(rest):
                pieces.append(rest)

    def _failed(self, error: LLMError, alone: bool) -> None:
        """Notes that a request for a piece has failed.

        Raises:
            LLMError: if no further request would help.
        """
        if isinstance(error, BadReply):
            self.outcome.problem = error
            self._failures += 1
            if self._failures >= self._allowed and not self.outcome.grades:
                raise error
        elif alone:
            raise error

    def _alone(self, place: int) -> Flow[bool]:
        """Grades an event that is shown twice, for models that leave the last one out."""
        try:
            self.outcome.grades |= yield from self._ask([place], [place])
        except BadReply as error:
            self.outcome.problem = error
            return False
        return True

    def _whole(self, batch: list[int]) -> Flow[dict[int, float]]:
        """The grades of a batch, in lines if the reply to the first request is unusable.

        A server that has twice in a row not given each event its grade, as the schema
        demands, is asked in lines from then on.
        """
        grader, server = self.grader, self.server
        misfits = grader.misfits[1] if grader.misfits[0] == server else 0
        in_lines = misfits >= MAX_MISFITS
        try:
            found = yield from self._ask(batch, [], in_lines)
        except BadReply as error:
            self.outcome.problem = error
            grader.misfits = server, 0 if in_lines else misfits + 1
            return (yield from self._ask(batch, [], in_lines=True))
        if not in_lines:
            grader.misfits = server, 0 if len(found) == len(batch) else misfits + 1
        return found

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
                raise Unusable("no grades of these", most=len(piece))
            return mine

        inputs = self.inputs(asked, in_lines)
        request = self.view.request_for(GRADE, **inputs)
        return (yield from GRADE.ask(request, known, False))


def _graded_once(asking: GradeSession, scope: str) -> Flow[None]:
    """Requests grades, and shares them with other agents that need the same.

    Args:
        scope: the part of a request that is equal for all agents that share grades of
            identical events.
    """
    place_of = {
        hashlib.sha256(f"{scope}|{line}".encode()).hexdigest()[:32]: place
        for line, place in asking.first.items()
    }
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
