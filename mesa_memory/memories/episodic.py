"""The memory stream: events with importance, recalled by what they are about."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core import importance as grading
from mesa_memory.core import render
from mesa_memory.core.importance import GRADE_MAX, Importance
from mesa_memory.core.records import EVICTED
from mesa_memory.core.requests import Flow
from mesa_memory.core.validate import whole
from mesa_memory.memories.doing import EMBEDDED
from mesa_memory.memories.entry import entry_lines, importance_of
from mesa_memory.memories.reflection import Reflection
from mesa_memory.memories.streaming import Stream, Streaming, is_ungraded
from mesa_memory.retrieval import scoring as retrieval
from mesa_memory.retrieval.index import Recalled
from mesa_memory.retrieval.scoring import Scoring


class EpisodicMemory(Streaming):
    """Events recalled by relevance, importance and recency.

    All events of a step are graded in one request (Park et al. 2023 and Mesa-LLM send
    one for each) and embedded in one. At capacity, the event with the least importance
    and recency is forgotten. Insights, with their evidence, are drawn once the events
    since the last reflection have gathered enough importance.

    Args:
        agent: the agent that owns the memory.
        llm_model, display, api_base, additive_event_types: see ``MemoryModule``.
        max_capacity: how many graded events to keep, at least 1.
        considered_entries: how many are recalled for a prompt, at least 1.
        recency_decay: factor per step of age, above 0 and at most 1.
        importance: ``"llm"``, ``"offline"`` (kind and cue words, no model), or a
            function that takes a ``MemoryRecord`` and returns a number on the scale.
        importance_scale: the highest grade: 5 (Mesa-LLM) or 10 (Park et al. 2023).
        grade_context: show the grader so many of the newest events; grades are then
            the agent's own and no longer shared between agents.
        scoring: how recall ranks; None is ``Scoring(decay=recency_decay)`` for a query
            or a focus, and importance plus recency without.
        reflection: ``Reflection.direct()`` or ``Reflection.questions()``; None, without
            a threshold, does not reflect.
        reflect_threshold: importance that must come together before a reflection, above
            0; by default 30. Alone, it means ``Reflection.direct()``.
        **limits: ``event_chars``, ``section_chars``, ``history_capacity`` of
            ``MemoryModule``.

    Attributes:
        memory_entries: one entry for each event, oldest first, the newest not yet
            graded; content is ``{kind: {..., "importance": grade}}``.

    Raises:
        ValueError: for a wrong capacity, decay, importance, scale or threshold.
        TypeError: if scoring is no ``Scoring``, or reflection no ``Reflection``.
    """

    layer = "episodic"
    _loose: dict

    def __new__(cls, *args: Any, **kwargs: Any) -> "EpisodicMemory":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._loose = {}
        return self

    def __init__(
        self,
        agent: Any,
        llm_model: str | None = None,
        display: bool = False,
        max_capacity: int = 200,
        considered_entries: int = 30,
        recency_decay: float = 0.995,
        api_base: str | None = None,
        *,
        additive_event_types: Iterable[str] | None = None,
        importance: Importance = "llm",
        grade_context: int = 0,
        scoring: Scoring | None = None,
        importance_scale: int = GRADE_MAX,
        reflection: Reflection | None = None,
        reflect_threshold: float | None = None,
        **limits: int,
    ) -> None:
        self.max_capacity = whole("max_capacity", max_capacity)
        self.considered_entries = whole("considered_entries", considered_entries)
        self.recency_decay = recency_decay
        Scoring(decay=recency_decay)  # checks it
        self.importance = grading.check(importance)
        self.grade_context = whole("grade_context", grade_context, least=0)
        self.importance_scale = grading.check_scale(importance_scale)
        self._index.top = self.importance_scale
        if not isinstance(scoring, Scoring | None):
            raise TypeError(f"scoring must be a Scoring or None, got {scoring!r}")
        self.scoring = scoring
        self._reflect_as(reflection, reflect_threshold)
        self._stream = Stream(capacity=max_capacity)
        super().__init__(
            agent,
            llm_model,
            display,
            api_base,
            additive_event_types,
            **limits,
        )

    @property
    def step_content(self) -> dict:
        """A buffer of Mesa-LLM's that episodic memory does not use."""
        return self._loose

    @step_content.setter
    def step_content(self, content: Mapping) -> None:
        self._loose = dict(content)

    @property
    def memory_entries(self) -> Stream:
        """The stream, with what has arrived until now; waits for unfinished work."""
        self._admit_all()
        return self._stream

    # -- thinking -----------------------------------------------------------------

    def remember(self) -> Flow[None]:
        """Grades all new events in one request, embeds them in one, then forgets.

        A failure leaves them new: what was done is not done again. Then reflects, if it
        is due, and takes up the insights in the same way.
        """
        yield from self._take_up()
        if self._due():
            yield from self._reflect()
            yield from self._take_up()

    def _forget(self) -> None:
        """Closes what exceeds the capacity, the lowest score first.

        What waits for its grade is neither counted nor forgotten.
        """
        if len(self._stream) <= self.max_capacity:
            return
        waiting = set(map(id, self._fresh))
        entries = {p: e for p, e in enumerate(self._stream) if id(e) not in waiting}
        surplus = max(0, len(entries) - self.max_capacity)
        scores = self._scores(list(entries.values()))
        places = list(entries)
        forgotten = {places[place] for place in retrieval.lowest(scores, surplus)}
        kept = []
        for position, entry in enumerate(self._stream):
            if position not in forgotten:
                kept.append(entry)
                continue
            for event in getattr(entry, "events", ()):
                self._journal.close(event, self._now(), EVICTED)
        self._stream.clear()
        self._stream.extend(kept)

    def _context(self, count: int) -> list[str]:
        """The newest graded events as lines, oldest first."""
        graded = [e for e in self._stream if not is_ungraded(e)]
        newest = graded[len(graded) - min(count, len(graded)) :]
        return [line for e in newest for line in entry_lines(e, self.event_chars)]

    # -- reading ------------------------------------------------------------------

    def retrieve_top_k_entries(self, k: int, query: str | None = None) -> list:
        """The ``k`` best entries, best first.

        Args:
            k: 0 or more.
            query: see ``recall``.

        Raises:
            ValueError: if k is negative.
        """
        self._admit_all()
        self._take_in()
        found = self._recall(query, k)
        self._note_recall("entries", found)
        return [self._entry_of[r.record.id] for r in found.records]

    async def aretrieve_top_k_entries(self, k: int, query: str | None = None) -> list:
        """``retrieve_top_k_entries``, for event loops."""
        with EMBEDDED.on(self, await self._foresee(query, None)):
            return self.retrieve_top_k_entries(k, query)

    def format_long_term(self) -> str:
        """The recalled events in the order in which they happened."""
        self._settled()
        self._take_in()
        listed = [event for entry in self._ungraded() for event in entry.events]
        found = self._recall(None, None, without=listed)
        chosen = self._with_room(found.records)
        recalled = [entry for key, entry in self._entry_of.items() if key in chosen]
        self._note_recall("prompt", found, lambda r: r.record.id in chosen)
        text = render.section(self._by_step(recalled), self.section_chars)
        left_out = len(found.records) - len(chosen)
        note = f"({left_out} memories of less weight not shown)\n" if left_out else ""
        return note + text

    def get_prompt_ready(self) -> str:
        """What was recalled, and what has just happened."""
        recalled = self.format_long_term() or "Nothing remembered yet."
        return (
            f"Most important memories:\n{recalled}\n\n"
            f"Short term memory:\n{self.format_short_term()}"
        )

    def _with_room(self, found: Sequence[Recalled]) -> set[str]:
        """Ids of the best records that the section has room for, at least one."""
        chosen: set[str] = set()
        steps: set[float] = set()
        used = 0
        for record in (each.record for each in found):
            text = "\n".join(entry_lines(self._entry_of[record.id], self.event_chars))
            used += len(render.step_text(record.step, [text])) + 1
            if record.step in steps:  # its heading is there already
                used -= len(render.step_text(record.step, ())) + 1
            if used > self.section_chars and chosen:
                break
            chosen.add(record.id)
            steps.add(record.step)
        return chosen

    def _scores(self, entries: Sequence[MemoryEntry]) -> np.ndarray:
        """Importance and recency: what forgetting goes by."""
        top = self.importance_scale
        grades = [retrieval.importance_of(importance_of(e), top) for e in entries]
        steps = np.array([entry.step or 0 for entry in entries], dtype=float)
        recency = retrieval.recency_part(steps, self._now(), self.recency_decay)
        return np.array(grades) + recency

    def _admit_all(self) -> None:
        self._settled()
        self._admit([(event.step, [event]) for event in self._staging.draw()])
