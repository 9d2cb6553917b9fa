"""A window of recent steps, word for word: what three of the memories share."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core.inbox import Group, superseded
from mesa_memory.core.records import ERASED, EVICTED, SUPERSEDED, MemoryRecord
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.memories.base import MemoryModule
from mesa_memory.memories.entry import Entry, entry_lines, entry_snapshots


class Windowed(MemoryModule):
    """Keeps entries, one for each step in which something happened."""

    _window: deque[MemoryEntry]

    def __new__(cls, *args: Any, **kwargs: Any) -> "Windowed":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._window = deque()
        return self

    def _entries(self) -> list[MemoryEntry]:
        return list(self._window)

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; the entries kept."""
        return super().snapshot() | {"window": entry_snapshots(self._entries())}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        self._window = deque(
            self._entry_from(kept) for kept in snapshot["window"] if kept[1]
        )

    def _keeps(self) -> Iterator[MemoryRecord]:
        yield from super()._keeps()
        for entry in self._window:
            yield from getattr(entry, "events", ())

    def _admit(self, groups: Sequence[Group]) -> None:
        for step, events in groups:
            self._show(self._append(step, events))

    def _append(self, step: float, events: Sequence) -> Entry:
        """Adds a step's entry; events that came late join the entry of their step."""
        held = self._window
        if held and isinstance(held[-1], Entry) and held[-1].step == step:
            events = [*held.pop().events, *events]
        entry = self._entry(step, events)
        held.append(entry)
        for event in superseded(events, self.additive_event_types):
            self._journal.close(event, step, SUPERSEDED)
        return entry

    def _split(self, entry: Entry, chars: int) -> bool:
        """Makes two entries of one whose oldest or newest events fill ``chars``.

        Args:
            chars: longest text of the part that holds the oldest events; negative, of
                the part that holds the newest.

        Returns:
            False if there is nothing to split.
        """
        lengths = self._lengths(entry)
        if chars < 0:
            parts = len(lengths) - _fitting(reversed(lengths), -chars)
        else:
            parts = _fitting(lengths, chars)
        if not 0 < parts < len(lengths):
            return False
        place = list(self._window).index(entry)
        oldest, self._window[place] = entry.parts(parts, lengths)
        self._window.insert(place, oldest)
        return True

    def _lengths(self, entry: Entry) -> Sequence[int]:
        """Of each event's line; what is left of a long step is not told again."""
        if entry.lengths is not None:
            return entry.lengths
        return [len(self._told(event)) for event in entry.events]

    def _line_lengths(self, entry: MemoryEntry) -> Sequence[int]:
        """Of each line of an entry's text."""
        # A call and the action that came of it make one line.
        if isinstance(entry, Entry) and not entry.calls:
            return self._lengths(entry)
        return [len(line) for line in entry_lines(entry, self.event_chars)]

    def _keep(self, count: int) -> None:
        """Forgets all but the newest ``count`` entries."""
        while len(self._window) > count:
            self._end(self._window.popleft(), EVICTED)

    def _end(self, entry: MemoryEntry, because: str) -> None:
        """An entry has left the window: the lifetimes of its records end."""
        for event in getattr(entry, "events", ()):
            self._journal.close(event, self._now(), because)


def _fitting(lengths: Iterable[int], chars: int) -> int:
    """How many of the first fit, at least one."""
    used = 0
    for count, length in enumerate(lengths):
        used += length + 1
        if used > chars and count:
            return count
    return count + 1


class ShortTerm(Windowed):
    """A window that is the memory's short-term part, by Mesa-LLM's name for it.

    Attributes:
        short_term_memory: the entries kept, oldest first.
    """

    @property
    def short_term_memory(self) -> deque[MemoryEntry]:
        """The entries kept, oldest first; may be changed or replaced."""
        self._settled()
        return self._window

    @short_term_memory.setter
    def short_term_memory(self, entries: Iterable[MemoryEntry]) -> None:
        before = self._entries()
        self._window = entries if isinstance(entries, deque) else deque(entries)
        kept = set(map(id, self._window))
        for entry in before:
            if id(entry) not in kept:
                self._end(entry, ERASED)
