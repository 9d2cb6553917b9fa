"""The memory stream: events with importance, recalled by what they are about."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from mesa_llm.memory.memory import MemoryEntry

from mesa_memory import importance as grading
from mesa_memory import render, retrieval
from mesa_memory.checks import whole
from mesa_memory.effects import Steps
from mesa_memory.importance import Importance
from mesa_memory.memory.entry import Entry, entry_lines, importance_of
from mesa_memory.memory.reflecting import Reflecting
from mesa_memory.memory.stream import Stream
from mesa_memory.records import EVICTED, MemoryRecord
from mesa_memory.reflection import Reflection
from mesa_memory.retrieval import Scoring
from mesa_memory.schemas import GRADE_MAX
from mesa_memory.staging import Group


class EpisodicMemory(Reflecting):
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
    _stream: Stream
    _fresh: list[Entry]  # the newest entries, those without a grade among them
    _loose: dict

    def __new__(cls, *args: Any, **kwargs: Any) -> "EpisodicMemory":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._stream = Stream()
        self._fresh = []
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

    def remember(self) -> Steps[None]:
        """Grades all new events in one request, embeds them in one, then forgets.

        A failure leaves them new: what was done is not done again. Then reflects, if it
        is due, and takes up the insights in the same way.
        """
        yield from self._take_up()
        if self._due():
            yield from self._reflect()
            yield from self._take_up()

    def _take_up(self) -> Steps[None]:
        fresh = self._ungraded()
        if fresh:
            grades = yield from self._grade([entry.events[0] for entry in fresh])
            for entry, grade in zip(fresh, grades, strict=True):
                self._journal.grade(entry.events[0], grade)
                self._gather(entry.events[0])
                _show_grade(entry)
        if not self.services.embeds_here:
            self._take_in()
            yield from self._embed(self._fresh)
        self._fresh.clear()
        self._forget()

    def _forget(self) -> None:
        """Closes what exceeds the capacity, the lowest score first."""
        surplus = len(self._stream) - self.max_capacity
        if surplus <= 0:
            return
        forgotten = set(retrieval.lowest(self._scores(list(self._stream)), surplus))
        for position in sorted(forgotten, reverse=True):
            for event in getattr(self._stream[position], "events", ()):
                self._journal.close(event, self._now(), EVICTED)
            del self._stream[position]

    def _context(self, count: int) -> list[str]:
        """The newest graded events as lines, oldest first."""
        graded = [e for e in self._stream if not _is_ungraded(e)]
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
        return [self._entry_of[r.record.id] for r in self._recall(query, k)]

    def format_long_term(self) -> str:
        """The recalled events in the order in which they happened."""
        self._settled()
        self._take_in()
        listed = [event for entry in self._ungraded() for event in entry.events]
        found = {r.record.id for r in self._recall(None, None, without=listed)}
        recalled = [entry for key, entry in self._entry_of.items() if key in found]
        return render.section(self._by_step(recalled), self.section_chars)

    def get_prompt_ready(self) -> str:
        """What was recalled, and what has just happened."""
        recalled = self.format_long_term() or "Nothing remembered yet."
        return (
            f"Most important memories:\n{recalled}\n\n"
            f"Short term memory:\n{self.format_short_term()}"
        )

    def _scores(self, entries: Sequence[MemoryEntry]) -> np.ndarray:
        """Importance and recency: what forgetting goes by."""
        grades = [retrieval.importance_of(importance_of(entry)) for entry in entries]
        steps = np.array([entry.step or 0 for entry in entries], dtype=float)
        recency = retrieval.recency_part(steps, self._now(), self.recency_decay)
        return np.array(grades) + recency

    def _admit_all(self) -> None:
        self._settled()
        self._admit([(event.step, [event]) for event in self._staging.draw()])

    def _admit(self, groups: Sequence[Group]) -> None:
        for event in (event for _, events in groups for event in events):
            content = event.content
            shown = dict(content) if isinstance(content, dict) else content
            entry = Entry(self.agent, event.step, [event], {event.kind: shown})
            _show_grade(entry)
            self._gather(event)  # a grade it came with
            self._stream.append(entry)
            self._fresh.append(entry)
            self._show(entry)

    def _entries(self) -> list[MemoryEntry]:
        return list(self._stream)

    def _kept(self) -> Stream:
        return self._stream

    def _recent(self) -> list[MemoryEntry]:
        """What is not yet graded, by step; all else is recalled, not listed."""
        steps: dict[float, list[MemoryRecord]] = {}
        for entry in [*self._ungraded(), *self._pending()]:
            steps.setdefault(entry.step or 0, []).extend(entry.events)
        return [self._entry(step, events) for step, events in sorted(steps.items())]

    def _ungraded(self) -> list[Entry]:
        return [entry for entry in self._fresh if _is_ungraded(entry)]


def _is_ungraded(entry: MemoryEntry) -> bool:
    return isinstance(entry, Entry) and entry.events[0].importance is None


def _show_grade(entry: Entry) -> None:
    """Puts the grade into the entry's content, but never over the user's own field."""
    event = entry.events[0]
    shown = entry.content[event.kind]
    if event.importance is not None and isinstance(shown, dict):
        shown.setdefault("importance", event.importance)
