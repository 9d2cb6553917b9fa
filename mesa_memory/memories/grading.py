"""Grades the importance of a memory's events, by model, by rule or by function."""

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from mesa_memory.core import importance as grading
from mesa_memory.core.content import plain
from mesa_memory.core.flow import run
from mesa_memory.core.importance import GRADE_MAX, Importance
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow, LLMRequest
from mesa_memory.core.text import words
from mesa_memory.memories.base import MemoryModule
from mesa_memory.tasks import GRADE, Task
from mesa_memory.tasks.grade import offline_grade
from mesa_memory.tasks.grading import Graded, grade_together


class Grading(MemoryModule):
    """A memory whose events have grades.

    Attributes:
        importance: who grades, see ``EpisodicMemory``.
        importance_scale: the highest grade, 5 or 10; the lowest is 1.
        grade_context: how many of the newest events the grader is shown.
    """

    importance: Importance = "llm"
    importance_scale = GRADE_MAX
    grade_context = 0

    def add_to_memory(self, type: str, content: dict) -> None:
        """Stages an event; a replaced ``grade_event_importance`` grades it at once."""
        event = self._arrive(type, content)
        if self._is_replaced("grade_event_importance"):
            grade = self.grade_event_importance(type, content)
            self._take_grade(event, grade, "grade_event_importance")

    async def aadd_to_memory(self, type: str, content: dict) -> None:
        """``add_to_memory``; a replaced ``agrade_event_importance`` grades at once."""
        if not self._is_replaced("agrade_event_importance"):
            self.add_to_memory(type, content)
            return await self._aprepare(type)
        event = self._arrive(type, content)
        grade = await self.agrade_event_importance(type, content)
        self._take_grade(event, grade, "agrade_event_importance")
        await self._aprepare(type)

    def grade_event_importance(self, type: str, content: dict) -> float:
        """The grade of one event in a request of its own."""
        performer = self._performer()
        try:
            graded = run(self._grade([self._loner(type, content)]), performer)
        finally:
            performer.release()
        if 0 not in graded.grades:
            assert graded.problem is not None
            raise graded.problem
        return graded.grades[0]

    async def agrade_event_importance(self, type: str, content: dict) -> float:
        """``grade_event_importance``, for event loops."""
        return await asyncio.to_thread(
            Grading.grade_event_importance, self, type, content
        )

    @property
    def system_prompt(self) -> str:
        """The grader's rubric, with the agent's task of this moment."""
        task = getattr(self.agent, "step_prompt", None)
        return GRADE.system({"top": self.importance_scale}, task)

    def system_for(self, task: Task, inputs: Mapping[str, Any]) -> str:
        """See ``MemoryModule``; ``system_prompt`` for grades."""
        own = task is GRADE
        return self.system_prompt if own else super().system_for(task, inputs)

    def _take_grade(self, event: MemoryRecord, grade: float, source: str) -> None:
        top = self.importance_scale
        self._journal.grade(event, grading.valid(grade, source, top))

    def _grade(self, events: Sequence[MemoryRecord]) -> Flow[Graded]:
        """A grade for each event, by whatever ``importance`` is."""
        rate, top = self.importance, self.importance_scale
        if callable(rate):
            rated = [grading.valid(rate(e), "importance()", top) for e in events]
            return Graded(dict(enumerate(rated)))
        lines = [self._told(e) for e in events]
        if rate == "offline":
            known = words(" ".join(self._context(20)))
            rated = [
                offline_grade(event.kind, line, known, top)
                for event, line in zip(events, lines, strict=True)
            ]
            return Graded(dict(enumerate(rated)))
        kinds = [event.kind for event in events]
        context = self._context(self.grade_context)

        def request(positions: list[int]) -> LLMRequest:
            chosen = [(kinds[p], lines[p]) for p in positions]
            return self.request_for(GRADE, events=chosen, top=top, context=context)

        # Own conclusions come when their reply comes; shared, it would depend on that
        # whose request the others wait for.
        own = any(event.sources for event in events)
        shared = not self.grade_context and not own
        return (yield from grade_together(lines, request, shared))

    @abstractmethod
    def _context(self, count: int) -> list[str]:
        """The newest graded events as lines, oldest first."""

    def _is_replaced(self, name: str) -> bool:
        """True if a subclass or the user has put its own grading method in place."""
        own = getattr(type(self), name) is not getattr(Grading, name)
        return own or name in vars(self)

    def _loner(self, kind: str, content: dict) -> MemoryRecord:
        """An event that is graded but not kept."""
        now = self._now()
        return MemoryRecord(
            "", self.agent.unique_id, self.layer, kind, now, plain(content)
        )
