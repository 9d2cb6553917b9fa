"""A running summary: what STLT and long-term memory share."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core import render
from mesa_memory.core.records import CONSOLIDATED, SUPERSEDED, MemoryRecord
from mesa_memory.core.requests import Flow, LLMRequest
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.memories.entry import Entry, entry_told
from mesa_memory.memories.window import Windowed
from mesa_memory.tasks import CONSOLIDATE, Task
from mesa_memory.tasks.consolidate import Summary

#: at most so many characters of events go into one request; the rest waits its turn
REQUEST_CHARS = 24_000
#: longest summary in a request
SUMMARY_SHOWN = 8000


class Summarizing(Windowed):
    """Folds entries into one summary, all or nothing.

    Attributes:
        summary_chars: longest accepted summary.
    """

    summary_chars = 4000
    _summary: MemoryRecord | None = None

    @property
    def long_term_memory(self) -> str:
        """The summary; setting it closes the old one and opens a new one."""
        self._settled()
        return self._text()

    @long_term_memory.setter
    def long_term_memory(self, text: str) -> None:
        self._settled()
        with self._lock:
            if text or self._summary:
                self._replace(text, sources=())

    @property
    def system_prompt(self) -> str:
        """The summariser's instructions, with the agent's task of this moment."""
        return CONSOLIDATE.system({}, getattr(self.agent, "step_prompt", None))

    def system_for(self, task: Task, inputs: Mapping[str, Any]) -> str:
        """See ``MemoryModule``; ``system_prompt`` for the summary."""
        own = task is CONSOLIDATE
        return self.system_prompt if own else super().system_for(task, inputs)

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; the summary."""
        return super().snapshot() | {"summary": self._summary}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        self._summary = snapshot["summary"]

    def _keeps(self) -> Iterator[MemoryRecord]:
        yield from super()._keeps()
        if self._summary is not None:
            yield self._summary

    def format_long_term(self) -> str:
        """The summary; empty if there is none."""
        return render.shorten(
            self.long_term_memory, max(self.section_chars, self.summary_chars)
        )

    def _text(self) -> str:
        return self._summary.content["text"] if self._summary else ""

    def _fold(self, count: int) -> Flow[None]:
        """Folds the oldest ``count`` entries of the window, or as many as fit."""
        if isinstance(oldest := self._window[0], Entry):
            self._split(oldest, REQUEST_CHARS)
        covered = yield from self._consolidate(list(self._window)[:count])
        for _ in range(covered):
            self._end(self._window.popleft(), CONSOLIDATED)

    def _consolidate(self, entries: Sequence[MemoryEntry]) -> Flow[int]:
        """Folds the oldest entries that fit one request into the summary.

        Returns:
            How many entries, at least one, are covered now.
        """
        covered = self._fitting(entries)
        request = self._ask_for(covered)

        def proved(reply: Summary) -> Summary:
            # Code in the place of ``memory.llm`` is the user's, and means what it says.
            replaced = self._replaced() is not None
            return reply if replaced else CONSOLIDATE.check(reply, request.inputs)

        reply: Summary = yield from CONSOLIDATE.ask(request, proved)
        sources = [e.id for entry in covered for e in getattr(entry, "events", ())]
        text = " ".join(reply.summary.split())
        self._replace(render.one_line(text), tuple(sources))
        return len(covered)

    def _fitting(self, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        covered: list[MemoryEntry] = []
        size = 0
        for entry in entries:
            size += sum(self._line_lengths(entry))
            if covered and size > REQUEST_CHARS:
                break
            covered.append(entry)
        return covered

    def _ask_for(self, entries: Sequence[MemoryEntry]) -> LLMRequest:
        told = [(e.step, entry_told(e, self.event_chars)) for e in entries]
        blocks = render.folded(told)
        # Only a summary that somebody has put there by hand is longer.
        known = render.shorten(self._text(), max(self.summary_chars, SUMMARY_SHOWN))
        return self.request_for(
            CONSOLIDATE,
            summary=known,
            lines=[(step, line) for step, lines in blocks for line in lines],
            max_chars=self.summary_chars,
        )

    def _replace(self, text: str, sources: tuple[str, ...]) -> None:
        now = self._now()
        old = self._summary
        if old is not None:
            sources = (old.id, *sources)
        new: Any = self._open("summary", now, {"text": text}, sources=sources)
        self._summary = new
        if old is not None:
            self._journal.close(old, now, SUPERSEDED, by=new)
