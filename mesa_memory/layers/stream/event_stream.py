"""The memory stream: events in the order of arrival."""

from collections.abc import Container, Hashable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from mesa_memory.core import render
from mesa_memory.core.records import DERIVED, EVICTED, WITHDRAWN, MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.statement import KEEP, statement
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.wording import Voice
from mesa_memory.errors import BadReply, LLMError
from mesa_memory.layers.base import Layer
from mesa_memory.layers.eviction import repeated_places, surplus_places
from mesa_memory.layers.lines import Line, pending
from mesa_memory.layers.stream.grading import Grader
from mesa_memory.layers.stream.indexing import EventIndex
from mesa_memory.layers.stream.recalling import RecallResult, Recollection
from mesa_memory.layers.stream.reflecting import KIND, Reflector
from mesa_memory.layers.view import StepView, ask_about
from mesa_memory.retrieval import scoring
from mesa_memory.retrieval.activation import moved
from mesa_memory.tasks.reflect import Drawn

logger = logger_of(__name__)

#: witnessed events may fill this part of the capacity, whatever others say
WITNESSED_SHARE = 0.5

UNGRADED_WARNING = (
    "%s: the model did not grade %s of the %s event(s) of its requests in %s step(s). They "
    "stay ungraded and count as the middle of the scale; later events are requested as "
    "before. This warning appears once per run. Use a model that follows a JSON schema, "
    "or importance='offline'."
)


class EventStream(Layer):
    """Keeps events, grades and embeds them as they come, and reflects on them.

    At capacity, the oldest repetitions of what one speaker has said most often are
    forgotten, and their number is kept; then the event with the least importance and
    recency.

    Args:
        grader: says how much an event matters; by default ``Grader()``.
        recollection: says which events are recalled; by default ``Recollection()``.
        reflector: draws insights, which are events of the stream, too; by default none.
        capacity: how many graded events to keep.

    Attributes:
        held: the events, oldest first.
    """

    name, volatility = "stream", 1.0
    state = ("_tries",)
    restored = ("_fresh", "_given_up")

    def __init__(
        self,
        grader: Grader | None = None,
        recollection: Recollection | None = None,
        reflector: Reflector | None = None,
        capacity: int = 200,
    ) -> None:
        self.grader, self.capacity = grader or Grader(), capacity
        self.recollection = recollection or Recollection()
        self.reflector = reflector or Reflector(None)
        self.held: list[MemoryRecord] = []
        # The newest, those without a grade among them.
        self._fresh: list[MemoryRecord] = []
        self._tries: dict[str, int] = {}  # how often the model gave no grade, by id
        self._asked = self._given_up = 0  # numbers of events, in this process
        # The grades of the held events, by statement and id.
        self._graded: dict[Hashable, dict[str, float]] = {}
        self.index = EventIndex(self.held, self.grader.top)
        self.recollection.index = self.index
        self.recollection.ungraded = self._untold
        self.reflector.recollection = self.recollection

    # -- as a layer ---------------------------------------------------------------------

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Appends events, which wait for their grade; see ``Layer``."""
        for event in events:
            self._count(event)  # a grade it came with
            self.reflector.arrived += event.origin != DERIVED
        self.held += events
        self._fresh += events

    def remember(self, view: StepView) -> Flow[None]:
        """Grades all new events in one request, embeds them in one, then forgets.

        A failure leaves them new: what was done is not done again. Then reflects, if it
        is due, and takes up the insights. A read only grades: its insights would
        precede events that are pending and came earlier.
        """
        yield from self._take_up(view)
        reflector = self.reflector
        if reflector.due() and not view.recalling:
            reflector.part = self.part
            stale = [i for i in reflector.insights(view) if i.stale_since is not None]
            found, withdrawn = yield from reflector.reflect(view, self.grader.own_top)
            self._conclude(view, found, withdrawn)
            self._release(view, stale)
            yield from self._take_up(view)

    def postponed(self) -> bool:
        """True if events wait for others to be graded with; see ``Layer``."""
        return not self._tries and bool(self.ungraded())

    def recent(self, view: StepView) -> list[Line]:
        """Events without a grade or not admitted yet, by step; the others are recalled."""
        return pending(view, self.ungraded())

    def records(self) -> list[MemoryRecord]:
        """The events."""
        return [*self.held, *self._fresh]

    def ungraded(self) -> list[MemoryRecord]:
        """The newest events, which wait for their grade."""
        return [event for event in self._fresh if event.importance is None]

    def _untold(self) -> list[MemoryRecord]:
        """The newest events to which the model gave no grade."""
        return [event for event in self.ungraded() if event.id in self._tries]

    def newest(self, view: StepView, count: int, voice: Voice) -> list[str]:
        """The newest graded events as lines in this voice, oldest first."""
        graded = (e for e in reversed(self.held) if e.importance is not None)
        newest, limit = [*islice(graded, count)][::-1], view.limits.event_chars
        return [render.event_text(e.kind, e.content, limit, voice) for e in newest]

    def bring_to_mind(self, view: StepView) -> RecallResult:
        """The events recalled for the step under way, without ungraded ones."""
        self.index.refresh(view)
        return self.recollection.find(view, None, None, without=self.ungraded())

    # -- its state ----------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The state of the stream besides its current records."""
        earlier = {event.id: event.earlier for event in self.held if event.earlier}
        return {
            **({"held": list(self.held)} if self.memory.journal.shared else {}),
            "grader": [self.grader.unable, *self.grader.misfits],
            **self.reflector.snapshot(),
            "fresh": list(self._fresh),
            "accessed": self.index.accessed(),
            **({"earlier": earlier} if earlier else {}),
        }

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up its events: the current records, without events that are not admitted yet."""
        view = self.memory.view()
        self.reflector.restore(snapshot)
        pending = {e for _, events in view.pending() for e in events}
        self.grader.unable, *misfits = snapshot["grader"]
        self.grader.misfits = misfits[0], misfits[1]
        held = snapshot["held"] if "held" in snapshot else shelf.current()
        self.held[:] = [event for event in held if event not in pending]
        earlier = snapshot.get("earlier", {})
        self._graded.clear()
        for event in self.held:
            event.earlier = earlier.get(event.id, 0)
            self._note_grade(event)
        fresh = set(snapshot["fresh"])
        self._fresh = [event for event in self.held if event in fresh]
        self.index.restore(view, snapshot["accessed"], fresh)

    def moved(self, snapshot: dict[str, Any], later: float) -> dict[str, Any]:
        """See ``Layer``; being recalled is an access."""
        given = snapshot["accessed"].items()
        accessed = {key: moved(each, later) for key, each in given}
        return snapshot | {"accessed": accessed}

    # -- what is new --------------------------------------------------------------------

    def _take_up(self, view: StepView) -> Flow[None]:
        """Grades and embeds new events; one without a grade stays new for a while."""
        self._grade_repetitions(view)
        fresh = self.ungraded()
        if self.grader.waits(len(fresh)) and not (view.recalling or self._tries):
            new: Container[str] = {event.id for event in fresh}
        else:
            yield from self._grade(view, fresh)
            new = self._tries
        yield from self.index.embed(view, [e for e in self._fresh if e.id not in new])
        self._fresh = [e for e in self._fresh if e.id in new]
        self._forget(view)

    def _grade_repetitions(self, view: StepView) -> None:
        """Gives repetitions the grade of before, unless the model is shown other events."""
        grader, fresh = self.grader, self.ungraded()
        if grader.importance != "llm" or grader.shown or not fresh:
            return
        if view.limits.repetitions == KEEP:
            return
        for event in fresh:
            for importance in self._graded.get(statement(event), {}).values():
                view.journal.grade(event, importance)
                self._count(event)
                break

    def _grade(self, view: StepView, fresh: list[MemoryRecord]) -> Flow[None]:
        """Grades new events, the oldest first; every grade that came is kept.

        An event that the model cannot grade does not stop a run: it is tried
        again as often as a failing step is, and then stays without a grade.

        Raises:
            LLMError: if a request failed, except for an unusable reply.
        """
        if not fresh:
            return
        grade, newest = self.grader.grade, partial(self.newest, view)
        graded = yield from ask_about(
            view, fresh, lambda events: grade(view, events, newest, self._tries)
        )
        if graded is None:  # a content filter refuses all of them
            self._tries.clear()
            return
        events, problem = graded.events, graded.problem
        for place, importance in sorted(graded.grades.items()):
            view.journal.grade(events[place], importance)
            self._count(events[place])
        limit = view.services.failures_allowed
        if problem and (limit == 1 or not isinstance(problem, BadReply)):
            raise problem
        self._asked += sum(event.id not in self._tries for event in events)
        self._wait_for_grades(view, events, limit, problem)

    def _wait_for_grades(
        self,
        view: StepView,
        events: Sequence[MemoryRecord],
        limit: int,
        problem: LLMError | None,
    ) -> None:
        """Counts how often events have got no grade; ``limit`` times is the last."""
        left = [event.id for event in events if event.importance is None]
        tried = {event: self._tries.get(event, 0) + 1 for event in left}
        self._tries = {event: tries for event, tries in tried.items() if tries < limit}
        if self._tries and not self._given_up:
            logger.warning(
                "%s; kept and tried again at the next step (%d in a row), %d event(s) "
                "still without a grade",
                str(problem),
                max(self._tries.values()),
                len(self._tries),
            )
        if given_up := len(left) - len(self._tries):
            self._given_up += given_up
            numbers = self._given_up, self._asked, limit
            whose = view.names(view.agent.unique_id)
            view.services.say_once(UNGRADED_WARNING, whose, *map(str, numbers))

    def _count(self, event: MemoryRecord) -> None:
        """Counts a grade; insights do not call for more insights."""
        if event.importance is not None and event.kind != KIND:
            self.reflector.gathered += event.importance
            self._note_grade(event)

    def _note_grade(self, event: MemoryRecord) -> None:
        """Keeps the grade of what an event says, for its repetitions."""
        if self.grader.importance == "llm" and event.importance is not None:
            self._graded.setdefault(statement(event), {})[event.id] = event.importance

    def _conclude(
        self,
        view: StepView,
        found: Sequence[Drawn[MemoryRecord]],
        withdrawn: Sequence[MemoryRecord],
    ) -> None:
        """Keeps new insights; closes the replaced and the withdrawn ones."""
        sound = [r for r in self.reflector.insights(view) if r.stale_since is None]
        known = {record.content["text"] for record in sound}
        gone = list(withdrawn)
        for each in found:
            if each.text in known:
                gone += [r for r in each.revises if r.content["text"] != each.text]
                continue
            known.add(each.text)
            content, sources = self.reflector.content_of(each)
            importance, mark = self.grader.of_insight(view, each.text, each.importance)
            content, given = {**content, **mark}, {"importance": importance}
            insight = self.open(view, KIND, content, sources, **given)
            self.admit(view, view.now, [insight])
            for old in each.revises:
                view.supersede(old, insight)
            self._release(view, each.revises)
        self._release(view, gone, WITHDRAWN)

    def _release(
        self, view: StepView, insights: Sequence[MemoryRecord], reason: str = EVICTED
    ) -> None:
        """Holds insights no more."""
        held = set(self.held)
        self._drop(view, [insight for insight in insights if insight in held], reason)

    def _drop(
        self, view: StepView, events: Sequence[MemoryRecord], reason: str = EVICTED
    ) -> None:
        """Closes events and holds them no more."""
        for event in events:
            self.close(view, event, reason)
            self.index.ranking.remove(event)
            grades = self._graded.pop(statement(event), {})
            grades.pop(event.id, None)
            if grades:  # of its repetitions
                self._graded[statement(event)] = grades
        if gone := set(events):
            self.held[:] = [event for event in self.held if event not in gone]
            self._fresh = [event for event in self._fresh if event not in gone]

    def _forget(self, view: StepView) -> None:
        """Closes surplus events, the lowest score first, by speaker in turn.

        Events that wait for their grade are neither counted nor closed.
        """
        if len(self.held) <= self.capacity:
            return
        waiting, me = set(self._fresh), view.agent.unique_id
        held = [event for event in self.held if event not in waiting]
        # Who has said it; None of an event that the agent has witnessed.
        told = [(None if e.sender in (None, me) else str(e.sender), e) for e in held]
        if view.limits.repetitions != KEEP:
            told = self._without_repetitions(view, told)
        tellers, events = [who for who, _ in told], [event for _, event in told]
        weights = zip(self._scores(view, events).tolist(), range(len(events)))
        surplus = surplus_places(tellers, weights, self.capacity, WITNESSED_SHARE)
        self._drop(view, [events[place] for place in sorted(surplus)])

    def _without_repetitions(
        self, view: StepView, told: list[tuple[str | None, MemoryRecord]]
    ) -> list[tuple[str | None, MemoryRecord]]:
        """Forgets the oldest repetitions of a speaker as far as the events are too many."""
        said = [(who, statement(event)) for who, event in told]
        gone = repeated_places(said, len(told) - self.capacity)
        for place, newest in gone:
            told[newest][1].earlier += 1 + told[place][1].earlier
            self.index.ranking.recount(told[newest][1])
        self._drop(view, [told[place][1] for place, _ in gone])
        left_out = {place for place, _ in gone}
        return [each for n, each in enumerate(told) if n not in left_out]

    def _scores(self, view: StepView, events: Sequence[MemoryRecord]) -> np.ndarray:
        """Importance and recency, for eviction."""
        top = self.grader.top
        grades = [scoring.importance_of(event.importance, top) for event in events]
        steps = np.array([event.step for event in events], dtype=float)
        recency = scoring.recency_part(steps, view.now, self.recollection.decay)
        return np.array(grades) + recency
