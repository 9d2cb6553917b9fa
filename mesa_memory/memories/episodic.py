"""The memory stream: events with importance, recalled by relevance."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Unpack

from mesa_memory.core import importance as grading
from mesa_memory.core.content import plain
from mesa_memory.core.importance import GRADE_MAX, Importance
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.validate import checked_int
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.grading import GRADED_TOGETHER, Grader
from mesa_memory.layers.stream.recalling import Recollection
from mesa_memory.layers.stream.reflecting import Reflection, Reflector
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.entries import EventEntries
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions
from mesa_memory.memories.host.recalls import RecallMixin, RecallService
from mesa_memory.memories.prompt.sections import Section, compose, lines_of
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.tasks import GRADE


class EpisodicMemory(RecallMixin, MemoryModule):
    """Events recalled by relevance, importance and recency.

    All new events are graded in one request (Park et al. 2023 and Mesa-LLM send one for
    each) and embedded in one. Fewer than ``grade_together`` wait for the next step or the
    next recall; until then they are shown word for word. At capacity, the event with the
    least importance and recency is forgotten. Insights, with their evidence, are drawn
    once the events since the last reflection have gathered enough importance.

    Args:
        agent: the agent that owns the memory.
        max_capacity: how many graded events to keep, at least 1.
        considered_entries: how many are recalled for a prompt, at least 1.
        recency_decay: factor per step of age, above 0 and at most 1.
        importance: ``"llm"``, ``"offline"`` (kind and cue words, no model), or a
            function that takes a ``MemoryRecord`` and returns a number on the scale.
        importance_scale: the highest grade: 5 (Mesa-LLM) or 10 (Park et al. 2023).
        grade_context: how many of the newest events the grader sees; grades are then
            the agent's own and no longer shared between agents.
        grade_together: the fewest events in a request to the model, at least 1, which
            grades each step.
        scoring: how recall ranks; None is ``Scoring(decay=recency_decay)`` for a query
            or a focus, and importance plus recency without.
        reflection: ``Reflection.direct()`` or ``Reflection.questions()``; None, without
            a threshold, does not reflect.
        reflect_threshold: importance that must come together before a reflection, above
            0; by default 30. Alone, it means ``Reflection.direct()``.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Attributes:
        memory_entries: one entry for each event, oldest first, the newest not yet
            graded; content is ``{kind: {..., "importance": grade}}``.

    Raises:
        ValueError: for a wrong capacity, decay, importance, scale or threshold.
        TypeError: if scoring is not a ``Scoring``, or reflection not a ``Reflection``.
    """

    layer = "episodic"
    own_task = GRADE
    max_capacity = Delegate("_stream", "Graded events that are kept.", "capacity")
    considered_entries = Delegate("_recollection", "Recalled at a time.", "considered")
    recency_decay = Delegate("_recollection", "Factor per step of age.", "decay")
    scoring = Delegate("_recollection", "How recall ranks; None by ``recency_decay``.")
    importance = Delegate("_grader", "Who grades.")
    importance_scale = Delegate("_grader", "The highest grade.", "top")
    grade_context = Delegate("_grader", "Events that the grader is shown.", "shown")
    grade_together = Delegate("_grader", "Fewest events in a request.", "together")
    reflection = Delegate("_reflector", "How to reflect; None never.", "plan")
    reflect_threshold = Delegate("_reflector", "Importance for one.", "threshold")

    def __init__(
        self,
        agent: Any,
        *,
        max_capacity: int = 200,
        considered_entries: int = 30,
        recency_decay: float = 0.995,
        importance: Importance = "llm",
        grade_context: int = 0,
        grade_together: int = GRADED_TOGETHER,
        scoring: Scoring | None = None,
        importance_scale: int = GRADE_MAX,
        reflection: Reflection | None = None,
        reflect_threshold: float | None = None,
        **options: Unpack[MemoryOptions],
    ) -> None:
        capacity = checked_int("max_capacity", max_capacity)
        considered = checked_int("considered_entries", considered_entries)
        shown = checked_int("grade_context", grade_context, least=0)
        together = checked_int("grade_together", grade_together)
        self._grader = Grader(importance, importance_scale, shown, together)
        self._recollection = Recollection(considered, recency_decay, scoring)
        self._reflector = Reflector(reflection, reflect_threshold)
        parts = self._grader, self._recollection, self._reflector
        self._stream = EventStream(*parts, capacity)
        self._recalls = RecallService(self, self._recollection)
        self._step_buffer: dict = {}
        super().__init__(agent, layers=[self._stream], **options)

    # -- arrival ----------------------------------------------------------------------

    def add_to_memory(self, type: str, content: dict) -> None:
        """Stages an event; a replaced ``grade_event_importance`` grades it at once."""
        event = self.arrive(type, content)
        if self._is_replaced("grade_event_importance"):
            grade = self.grade_event_importance(type, content)
            self._take_grade(event, grade, "grade_event_importance")

    async def aadd_to_memory(self, type: str, content: dict) -> None:
        """``add_to_memory``; a replaced ``agrade_event_importance`` grades at once."""
        if not self._is_replaced("agrade_event_importance"):
            self.add_to_memory(type, content)
            return await self.aprepare(type)
        event = self.arrive(type, content)
        grade = await self.agrade_event_importance(type, content)
        self._take_grade(event, grade, "agrade_event_importance")
        await self.aprepare(type)

    def grade_event_importance(self, type: str, content: dict) -> float:
        """The grade of one event in a request of its own."""
        view, plainly = self.view(), plain(content)
        me, now = view.agent.unique_id, view.now
        event = MemoryRecord("", me, self.layer, type, now, plainly)
        newest = partial(self._stream.newest, view)
        graded = self.run(self._grader.grade(view, [event], newest))
        if 0 not in graded.grades:
            assert graded.problem is not None
            raise graded.problem
        return graded.grades[0]

    async def agrade_event_importance(self, type: str, content: dict) -> float:
        """``grade_event_importance``, for event loops."""
        grade = EpisodicMemory.grade_event_importance
        return await asyncio.to_thread(grade, self, type, content)

    @property
    def step_content(self) -> dict:
        """A buffer of Mesa-LLM's that episodic memory does not use."""
        return self._step_buffer

    @step_content.setter
    def step_content(self, content: Mapping) -> None:
        self._step_buffer = dict(content)

    @property
    def memory_entries(self) -> EventEntries:
        """The stream, with all events until now; waits for unfinished work."""
        self._admit_all()
        return EventEntries(self, self._stream)

    @property
    def system_prompt(self) -> str:
        """The grader's rubric, with the agent's task of this moment."""
        grader = self._grader
        return self.instructions(
            GRADE, {"top": grader.top, **grader.unnamed(self.view())}
        )

    def _is_replaced(self, name: str) -> bool:
        """True if a subclass or the user has put its own grading method in place."""
        own = getattr(type(self), name) is not getattr(EpisodicMemory, name)
        return own or name in vars(self)

    def _take_grade(self, event: MemoryRecord, grade: float, source: str) -> None:
        top = self.importance_scale
        self.journal.grade(event, grading.valid(grade, source, top))

    def _admit_all(self) -> None:
        for event in self.journal.inbox.draw():
            self._stream.admit(self.view(), event.step, [event])
            self.show(event.step, [event])

    # -- recall -----------------------------------------------------------------------

    def retrieve_top_k_entries(self, k: int, query: str | None = None) -> list:
        """The ``k`` best entries, best first.

        Args:
            k: 0 or more.
            query: see ``recall``.

        Raises:
            ValueError: if k is negative.
        """
        self._admit_all()
        found = self._recalls.recall_recorded("entries", query, k)
        entry = EventEntries(self, self._stream).entry
        return [entry(each.record) for each in found.records]

    # -- reading ------------------------------------------------------------------

    def format_long_term(self) -> str:
        """The recalled events in the order in which they happened."""
        view = self.view()
        lines, found = lines_of(view, self._stream)
        assert found is not None, "a stream recalls"
        given: dict[str, Any] = {"left": "memories", "steps": True, "weak": found.weak}
        given["recall_left_out"] = found.left_out
        section = Section.of(view, self._stream, list(lines), **given)
        prompt = compose([section], self.section_chars, len)
        seen = prompt.shown()
        view.note_recall("prompt", found, lambda r: r.record.id in seen)
        return prompt.bodies[0]

    def prompt_text(self) -> str:
        """The recalled events, and recent steps."""
        return self.with_recent("stream", self.format_long_term())
