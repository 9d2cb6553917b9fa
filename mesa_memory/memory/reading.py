"""What an agent reads: recent steps, messages, and the sections of a prompt."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory import render
from mesa_memory.memory.asking import Asking
from mesa_memory.memory.entry import Entry, Message, entry_lines, foreign
from mesa_memory.records import MemoryRecord
from mesa_memory.staging import Staging


class Reading(Asking):
    """Plain reads of what is kept and of what is still staged."""

    event_chars = 1000
    section_chars = 8000
    history_capacity = 50
    _staging: Staging
    _log: deque[MemoryRecord]

    def format_short_term(self) -> str:
        """Recent steps, the one under way included: one event to a line."""
        self._settled()
        blocks = self._by_step(self._recent())
        if not blocks:
            return render.NOTHING_RECENT
        return render.section(blocks, self.section_chars)

    def format_long_term(self) -> str:
        """What is remembered beyond the recent steps; empty if there is nothing."""
        self._settled()
        return ""

    def get_prompt_ready(self) -> str:
        """The memory as prompt text."""
        return f"Short term memory:\n{self.format_short_term()}\n"

    def messages(
        self, last: int | None = None, with_agent: Any = None
    ) -> list[Message]:
        """Who said what, when: the messages heard and sent, oldest first.

        Args:
            last: at most so many, the newest.
            with_agent: only messages to or from this agent (or unique id).

        Raises:
            ValueError: if last is negative.
        """
        if last is not None and last < 0:
            raise ValueError(f"last must be 0 or more, got {last}")
        self._settled()
        with self._staging.lock:
            log = [Message.of(record.step, record.content) for record in self._log]
        found = sorted([*log, *foreign(self._entries())], key=lambda m: m.step)
        if with_agent is not None:
            other = getattr(with_agent, "unique_id", with_agent)
            found = [m for m in found if other == m.sender or other in m.recipients]
        return found if last is None else found[len(found) - min(last, len(found)) :]

    def get_communication_history(self) -> str:
        """The messages as text, oldest first; empty if there are none."""
        lines = [
            f"Step {render.value_text(m.step)}: "
            + render.shorten(m.line(), self.event_chars)
            for m in self.messages()
        ]
        return render.section(lines, self.section_chars, "messages") + "\n\n" * bool(
            lines
        )

    def _by_step(self, entries: Iterable[MemoryEntry]) -> list[str]:
        """Entries as text, one block for each step, in the order given."""
        steps: dict[Any, list[str]] = {}
        for entry in entries:
            lines = entry_lines(entry, self.event_chars)
            steps.setdefault(entry.step, []).extend(lines)
        return [render.step_text(step, lines) for step, lines in steps.items()]

    def _entries(self) -> list[MemoryEntry]:
        """The entries kept, oldest first."""
        return []

    def _recent(self) -> list[MemoryEntry]:
        """What the short-term section shows, oldest first."""
        return [*self._entries(), *self._pending()]

    def _pending(self) -> list[MemoryEntry]:
        """What is not admitted yet, as entries, oldest first."""
        steps: dict[float, list[MemoryRecord]] = {}
        for step, events in (g for _, groups in self._work.waiting for g in groups):
            steps.setdefault(step, []).extend(events)
        for event in self._staging.events():
            steps.setdefault(event.step, []).append(event)
        return [self._entry(step, events) for step, events in sorted(steps.items())]

    def _entry(self, step: float, events: Sequence[MemoryRecord]) -> Entry:
        return Entry.of(self.agent, step, events, self.additive_event_types)

    def _settled(self) -> None:
        """Before a read: commits finished steps and waits for unfinished work."""
