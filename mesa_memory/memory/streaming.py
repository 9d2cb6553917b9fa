"""The memory stream itself: one entry for each event, in the order of arrival."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.effects import Steps
from mesa_memory.memory.entry import Entry, entry_snapshot
from mesa_memory.memory.reflecting import Reflecting
from mesa_memory.records import MemoryRecord
from mesa_memory.snapshots import Shelf
from mesa_memory.staging import Group


class Stream(deque):
    """Entries of a memory stream; forgetting is by score, so none fall out by age."""

    def __init__(self, entries: Iterable = (), capacity: int = 200) -> None:
        super().__init__(entries)
        self.capacity = capacity

    @property
    def maxlen(self) -> int:
        """The capacity; events that wait for their grade may exceed it."""
        return self.capacity


class Streaming(Reflecting):
    """Keeps entries, grades and embeds them as they come, and reflects on them."""

    _stream: Stream
    _fresh: list[Entry]  # the newest entries, those without a grade among them

    def __new__(cls, *args: Any, **kwargs: Any) -> "Streaming":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._stream = Stream()
        self._fresh = []
        return self

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; what of the stream is not its current records."""
        strangers: list[tuple[int, Any]] = []
        if set(map(type, self._stream)) - {Entry}:  # there hardly ever are any
            strangers = [
                (position, entry_snapshot(entry))
                for position, entry in enumerate(self._stream)
                if not isinstance(entry, Entry)
            ]
        return super().snapshot() | {
            "fresh": [entry.events[0] for entry in self._fresh],
            "strangers": strangers,
            "accessed": self._index.accessed(),
        }

    def restore(self, snapshot: Mapping[str, Any], shelf: Shelf) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        waiting = [e for entry in self._pending() for e in entry.events]
        pending = {event.id for event in waiting}
        self._stream.clear()
        self._fresh = []
        fresh = {event.id for event in snapshot["fresh"]}
        for event in shelf.current():
            if event.id not in pending:
                entry = self._event_entry(event)
                self._stream.append(entry)
                if event.id in fresh:
                    self._fresh.append(entry)
        for position, kept in snapshot["strangers"]:
            self._stream.insert(position, self._entry_from(kept))
        self._forget_index()
        if not self.services.embeds_here:  # only what is new is embedded later
            self._take_in()
            if bare := self._index.lacking():
                self._embed_here(bare)
        if snapshot["accessed"]:
            self._take_in()
            self._index.set_accessed(snapshot["accessed"])

    def _take_up(self) -> Steps[None]:
        fresh = self._ungraded()
        if fresh:
            grades = yield from self._grade([entry.events[0] for entry in fresh])
            for entry, grade in zip(fresh, grades, strict=True):
                self._journal.grade(entry.events[0], grade)
                self._gather(entry.events[0])
                _show_grade(entry)
        if self.services.embeds_here:
            self._announce(self._fresh)
        else:
            self._take_in()
            yield from self._embed(self._fresh)
        self._fresh.clear()
        self._forget()

    def _held(self) -> list[MemoryRecord]:
        own = [e.events[0] for e in self._stream if isinstance(e, Entry)]
        found = {record.id: record for record in [*super()._held(), *own]}
        return sorted(found.values(), key=lambda record: record.place)

    @abstractmethod
    def _forget(self) -> None:
        """Closes what exceeds the capacity."""

    def _admit(self, groups: Sequence[Group]) -> None:
        for event in (event for _, events in groups for event in events):
            entry = self._event_entry(event)
            self._gather(event)  # a grade it came with
            self._stream.append(entry)
            self._fresh.append(entry)
            self._show(entry)

    def _event_entry(self, event: MemoryRecord) -> Entry:
        content = event.content
        shown = dict(content) if isinstance(content, dict) else content
        entry = Entry(self.agent, event.step, [event], {event.kind: shown})
        _show_grade(entry)
        return entry

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
        return [entry for entry in self._fresh if is_ungraded(entry)]


def is_ungraded(entry: MemoryEntry) -> bool:
    """True while an event's grade is awaited."""
    return isinstance(entry, Entry) and entry.events[0].importance is None


def _show_grade(entry: Entry) -> None:
    """Puts the grade into the entry's content, but never over the user's own field."""
    event = entry.events[0]
    shown = entry.content[event.kind]
    if event.importance is not None and isinstance(shown, dict):
        shown.setdefault("importance", event.importance)
