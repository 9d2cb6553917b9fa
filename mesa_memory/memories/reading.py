"""What an agent reads: recent steps, messages, and the sections of a prompt."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core import render
from mesa_memory.core.inbox import Inbox
from mesa_memory.core.records import MemoryRecord
from mesa_memory.memories.asking import Asking
from mesa_memory.memories.doing import SHOWING, UNNOTICED, make_whole
from mesa_memory.memories.entry import Entry, Message, entry_told, foreign

#: what an agent is shown, by the method that it asks
SHOWN = {
    "get_prompt_ready": "memory",
    "format_long_term": "long term",
    "format_short_term": "short term",
    "get_communication_history": "messages",
}


class Reading(Asking):
    """Plain reads of what is kept and of what is still staged."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Makes each read whole and known to the recorder, in users' classes, too."""
        super().__init_subclass__(**given)
        make_whole(cls)
        _note_reads(cls)

    event_chars = 1000
    section_chars = 8000
    history_capacity = 50
    _staging: Inbox
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

    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Reads of this thread or task leave no trace: no access, nothing recorded.

        For an observer's eye, such as a data collector's; not for what the agent sees.
        """
        with UNNOTICED.on(self):
            yield

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
            + render.shorten(m.line(self._names), self.event_chars)
            for m in self.messages()
        ]
        return render.section(lines, self.section_chars, "messages") + "\n\n" * bool(
            lines
        )

    def _note_shown(self, section: str, text: str) -> None:
        """Tells the recorder what the agent was shown."""
        recorder = self.services.recorder
        if recorder and not UNNOTICED.of(self):
            recorder.shown(self._whose(), section, text)

    def _told(self, event: MemoryRecord) -> str:
        """An event on one line."""
        limit = self.event_chars
        return render.event_text(event.kind, event.content, limit, self._names)

    def _by_step(self, entries: Iterable[MemoryEntry]) -> list[str]:
        """Entries as text, one block for each step, in the order given."""
        steps: dict[Any, list[tuple[str, str]]] = {}
        for entry in entries:
            told = entry_told(entry, self.event_chars)
            steps.setdefault(entry.step, []).extend(told)
        folded = render.folded(steps.items())
        return [render.step_text(step, lines) for step, lines in folded]

    def _entries(self) -> list[MemoryEntry]:
        """The entries kept, oldest first."""
        return []

    def _recent(self) -> list[MemoryEntry]:
        """What the short-term section shows, oldest first."""
        return [*self._entries(), *self._pending()]

    def _pending(self) -> list[MemoryEntry]:
        """What is not admitted yet, as entries, oldest first."""
        steps: dict[float, list[MemoryRecord]] = {}
        for step, events in (g for c in self._work.waiting for g in c.groups):
            steps.setdefault(step, []).extend(events)
        for event in self._staging.events():
            steps.setdefault(event.step, []).append(event)
        return [self._entry(step, events) for step, events in sorted(steps.items())]

    def _entry(self, step: float, events: Sequence[MemoryRecord]) -> Entry:
        return Entry.of(self.agent, step, events, self.additive_event_types)

    def _entry_from(self, kept: Sequence[Any]) -> MemoryEntry:
        """The entry of an ``entry_snapshot``."""
        step, held = kept
        if isinstance(held, dict):
            return MemoryEntry(content=held, step=step, agent=self.agent)
        return self._entry(step, held)

    def _settled(self) -> None:
        """Before a read: commits finished steps and waits for unfinished work."""


def _note_reads(cls: type) -> None:
    for name, section in SHOWN.items():
        if name in vars(cls):
            setattr(cls, name, _noted(vars(cls)[name], section))


def _noted(read: Callable[[Any], str], section: str) -> Callable[[Any], str]:
    """A read that tells the recorder its text, unless it is part of another one."""

    @wraps(read)
    def reading(self: Reading) -> str:
        if SHOWING.of(self):
            return read(self)
        with SHOWING.on(self):
            text = read(self)
        self._note_shown(section, text)
        return text

    return reading


make_whole(Reading)
_note_reads(Reading)
