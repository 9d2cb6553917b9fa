"""A window of recent steps, word for word."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.inbox import superseded
from mesa_memory.core.records import ERASED, EVICTED, SUPERSEDED, MemoryRecord
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.layers.base import Layer
from mesa_memory.layers.entry import (
    Entry,
    entry_snapshot,
    entry_told,
    moved_entries,
    records_of,
    restored,
)
from mesa_memory.layers.lines import Line, of_entries

#: length of what stands before an entry's lines, and before each of them
_HEADING, _BULLET = len("Step 100:\n"), len("- ")


class Window(Layer):
    """Keeps entries, one for each step in which something happened.

    Args:
        capacity: how many of the newest to keep; None keeps all until another layer
            takes them over, see ``RunningSummary``.

    Attributes:
        held: the entries, oldest first; may be changed by hand.
        covered: older entries that only a doubtful summary has, see ``RunningSummary``;
            they are shown before those held.
        ahead: an entry in ``held`` of events that are not admitted yet.
    """

    name = "window"
    restored: tuple[str, ...] = ("held", "covered", "ahead")

    def __init__(
        self, capacity: int | None = 5, until: Callable[[Any], bool] | None = None
    ) -> None:
        self.capacity, self.until = capacity, until
        self.held: deque[Any] = deque()
        self.covered: deque[Any] = deque()
        self.ahead: Entry | None = None

    # -- as a layer ---------------------------------------------------------------------

    def admit(self, step: float, events: Sequence[MemoryRecord]) -> None:
        """Adds the step's entry; see ``Layer``."""
        for entry in self.held:
            if entry.step is None:  # put there by hand, in Mesa-LLM's manner
                entry.step = self.now
        entry = self.append(step, events)
        if self.context.display:
            self.context.runtime.memory.show(entry)
        if self.capacity is not None:
            self.keep(self.capacity)

    def entries(self) -> list[Any]:
        """The entries of the admitted events, oldest first."""
        return [entry for entry in self.held if entry is not self.ahead]

    def recent(self) -> list[Line]:
        """The events of the entries, oldest first."""
        return of_entries([*self.covered, *self.entries()], self.context)

    def records(self) -> list[MemoryRecord]:
        """The records of its entries."""
        return records_of([*self.covered, *self.held])

    def snapshot(self) -> dict[str, Any]:
        """The entries."""
        covered = {"covered": self.covered} if self.covered else {}
        kept = {"window": self.entries(), **covered}
        return {name: list(map(entry_snapshot, part)) for name, part in kept.items()}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up the entries, as far as there are events left in them."""
        self.held, self.covered = (
            deque(restored(kept, self.context) for kept in part if kept[1])
            for part in (snapshot.get("window", ()), snapshot.get("covered", ()))
        )
        self.ahead = None

    def moved(self, snapshot: dict[str, Any], later: float) -> dict[str, Any]:
        """See ``Layer``; each entry has its step."""
        parts = {n: snapshot[n] for n in ("window", "covered") if n in snapshot}
        return snapshot | {n: moved_entries(parts[n], later) for n in parts}

    # -- its entries --------------------------------------------------------------------

    def look_ahead(self, step: float, events: Sequence[MemoryRecord]) -> None:
        """Puts an entry of events at the end that are not admitted yet, if any."""
        self.forget_ahead()
        if events:
            self.ahead = self.entry(step, events)
            self.held.append(self.ahead)

    def forget_ahead(self) -> None:
        """Takes the entry of ``look_ahead`` out again."""
        if self.ahead is None:
            return
        if self.held and self.held[-1] is self.ahead:
            self.held.pop()
        else:  # a user has changed them by hand
            self.held = deque(self.entries())
        self.ahead = None

    def replace(self, entries: Iterable[Any]) -> None:
        """Replaces the entries; records of missing ones are erased."""
        before = [*self.covered, *self.entries()]
        self.covered.clear()
        self.held = entries if isinstance(entries, deque) else deque(entries)
        kept = set(map(id, self.held))
        for entry in before:
            if id(entry) not in kept:
                self.end(entry, ERASED)
        self.context.close_dropped()

    def keep(self, count: int) -> None:
        """Forgets all but the newest ``count`` entries and some that must stay."""
        while len(self.held) > count:
            if self.until is not None and not self.until(self.held[0]):
                break
            self.end(self.held.popleft(), EVICTED)

    def end(self, entry: Any, reason: str) -> None:
        """An entry has left the window: the lifetimes of its records end."""
        events = getattr(entry, "events", ())
        self.context.let_go(events, reason, self.now, self)

    def append(self, step: float, events: Sequence[MemoryRecord]) -> Entry:
        """Adds a step's entry; events that came late join the entry of their step."""
        held = self.held
        if held and isinstance(held[-1], Entry) and held[-1].step == step:
            events = [*held.pop().events, *events]
        held.append(self.entry(step, events))
        old = superseded(events, self.context.additive_event_types)
        self.context.let_go(old, SUPERSEDED, step, self)
        return held[-1]

    def entry(self, step: float, events: Sequence[MemoryRecord]) -> Entry:
        """An entry of a step's events, not held yet."""
        return Entry.of(self.agent, step, events, self.context.additive_event_types)

    # -- their sizes --------------------------------------------------------------------

    def split(self, entry: Entry, chars: int) -> bool:
        """Makes two entries of one whose oldest or newest events fill ``chars``.

        Args:
            chars: longest text of the part that holds the oldest events; negative, of
                the part that holds the newest.

        Returns:
            False if there is nothing to split.
        """
        if not entry.calls and self.chars(entry) <= abs(chars):
            return False
        lengths = self._lengths(entry)
        if chars < 0:
            parts = len(lengths) - _fitting(reversed(lengths), -chars)
        else:
            parts = _fitting(lengths, chars)
        if not 0 < parts < len(lengths):
            return False
        place = list(self.held).index(entry)
        oldest, self.held[place] = entry.parts(parts, lengths)
        self.held.insert(place, oldest)
        return True

    def _lengths(self, entry: Entry) -> Sequence[int]:
        """The events' lines, without repeating the rest of a long step."""
        if entry.lengths is not None:
            return entry.lengths
        if not entry.calls:  # else a call and the action that came of it make one line
            return self.line_lengths(entry)
        return [len(self.context.own_line(event)) for event in entry.events]

    def line_lengths(self, entry: Any) -> Sequence[int]:
        """Of each line of an entry's text."""
        if isinstance(entry, Entry) and entry.lengths is not None and not entry.calls:
            return entry.lengths
        limit, voice = self.context.event_chars, self.context.own_voice
        return [len(line) for _, line in entry_told(entry, limit, voice)]

    def size(self, entry: Any) -> int:
        """Tokens of an entry; an own entry does not change, so it is counted once."""
        return self._measured(entry)[0]

    def sizes(self) -> list[int]:
        """``size`` of each of its entries, oldest first."""
        return list(map(self.size, self.held))

    def chars(self, entry: Any) -> int:
        """About the length of an entry's text, never less."""
        return self._measured(entry)[1]

    def lengths(self) -> list[int]:
        """``chars`` of each of its entries."""
        return list(map(self.chars, self.held))

    def _measured(self, entry: Any) -> tuple[int, int]:
        """Tokens and characters of an entry."""
        if known := getattr(entry, "measured", None):
            return known
        lengths, own = self.line_lengths(entry), isinstance(entry, Entry)
        size = render.tokens_of(sum(lengths) + max(0, len(lengths) - 1))
        chars = 4 * size + _HEADING + _BULLET * (len(entry.events) if own else 1)
        if own:
            entry.measured = size, chars
        return size, chars


def _fitting(lengths: Iterable[int], chars: int) -> int:
    """The number of first lengths that fit, at least one."""
    used = 0
    for count, length in enumerate(lengths):
        used += length + 1
        if used > chars and count:
            return count
    return count + 1
