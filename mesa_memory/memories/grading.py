"""Grades the importance of events, by model, by rule or by function."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from mesa_memory.core import importance as grading
from mesa_memory.core.content import words
from mesa_memory.core.importance import GRADE_MAX, Importance
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.requests import Flow, LLMRequest
from mesa_memory.memories.context import LayerContext
from mesa_memory.tasks import GRADE
from mesa_memory.tasks.grade import offline_grade
from mesa_memory.tasks.grading import NO_DOUBTS, Doubts, Graded, grade_together

#: number of newest events against which grades by rule tell what is new
KNOWN_EVENTS = 20


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

        @cache
        def made(*positions: int) -> LLMRequest:
            chosen = [(kinds[p], lines[p]) for p in positions]
            return self.context.request_for(
                GRADE, events=chosen, top=top, context=context
            )

        def request(positions: list[int]) -> LLMRequest:
            return made(*positions)

        # Own conclusions come when their reply comes; shared, it would depend on that
        # whose request the others wait for.
        own = any(event.origin == DERIVED for event in events)
        shared = not self.shown and not own
        return (yield from grade_together(lines, request, shared, doubts))
