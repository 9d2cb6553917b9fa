"""A window of recent steps, word for word."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import ERASED, EVICTED, SUPERSEDED, MemoryRecord
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.layers.base import Layer
from mesa_memory.layers.lines import (
    Line,
    StepEvents,
    moved_steps,
    of_steps,
    records_of,
    step_of,
)
from mesa_memory.layers.view import StepView

#: length of what stands before a step's lines, and before each of them
_HEADING, _BULLET = len("Step 100:\n"), len("- ")
#: a line may be this much longer than its limit: it says how much of it is left out
_LEFT_OUT = 60


class Window(Layer):
    """Keeps the events of steps in which something happened.

    Args:
        capacity: how many of the newest steps to keep; None keeps all until another
            layer takes them over, see ``RunningSummary``.

    Attributes:
        held: the steps, oldest first.
        covered: older steps that only a doubtful summary has, see ``RunningSummary``;
            they are shown before those held.
    """

    name = "window"
    restored: tuple[str, ...] = ("held", "covered")

    def __init__(
        self, capacity: int | None = 5, until: Callable[[Any], bool] | None = None
    ) -> None:
        self.capacity, self.until = capacity, until
        self.held: deque[StepEvents] = deque()
        self.covered: deque[StepEvents] = deque()

    # -- as a layer ---------------------------------------------------------------------

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Adds the events of a step; late ones join those of their step."""
        held = self.held
        if held and held[-1].step == step:
            events = [*held.pop().events, *events]
        held.append(step_of(view, step, events))
        if len(held[-1].events) < len(events):
            kept = set(held[-1].events)
            old = [event for event in events if event not in kept]
            view.release(old, SUPERSEDED, step, self)
        if self.capacity is not None:
            self.keep(view, self.capacity)

    def recent(self, view: StepView) -> list[Line]:
        """The events, oldest first."""
        return of_steps([*self.covered, *self.held], view)

    def records(self) -> list[MemoryRecord]:
        """The events, oldest first."""
        return records_of([*self.covered, *self.held])

    def snapshot(self) -> dict[str, Any]:
        """The steps with their events."""
        parts = {
            "window": self.held,
            **({"covered": self.covered} if self.covered else {}),
        }
        return {n: [(e.step, e.events) for e in part] for n, part in parts.items()}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up the steps, as far as there are events left in them."""
        self.held, self.covered = (
            deque(StepEvents(*each) for each in snapshot.get(part, ()) if each[1])
            for part in ("window", "covered")
        )

    def moved(self, snapshot: dict[str, Any], later: float) -> dict[str, Any]:
        """See ``Layer``; the snapshot names each step."""
        parts = {n: snapshot[n] for n in ("window", "covered") if n in snapshot}
        return snapshot | {n: moved_steps(parts[n], later) for n in parts}

    # -- its steps ----------------------------------------------------------------------

    def replace(self, steps: Iterable[StepEvents]) -> None:
        """Holds these steps alone; records that are not among them are erased."""
        before = self.records()
        self.covered.clear()
        self.held = deque(steps)
        kept = set(records_of(self.held))
        gone = [record for record in before if record not in kept]
        if gone:  # else the memory may not have its agent yet
            view = self.memory.view()
            view.release(gone, ERASED, view.now, self)
            self.memory.close_dropped()

    def keep(self, view: StepView, count: int) -> None:
        """Forgets all but the newest ``count`` steps and some that must stay."""
        while len(self.held) > count:
            if self.until is not None and not self.until(self.held[0]):
                break
            gone = self.held.popleft().events
            view.release(gone, EVICTED, view.now, self)

    # -- their sizes --------------------------------------------------------------------

    def split(self, view: StepView, events: StepEvents, chars: int) -> bool:
        """Makes two parts of a step, whose oldest or newest events fill ``chars``.

        Args:
            chars: longest text of the part that holds the oldest events; negative, of
                the part that holds the newest.

        Returns:
            False if there is nothing to split.
        """
        if self.surely_fit(view, [events], abs(chars)):
            return False
        if not events.calls and self.chars(view, events) <= abs(chars):
            return False
        lengths = self._lengths(view, events)
        if chars < 0:
            parts = len(lengths) - _fitting(reversed(lengths), -chars)
        else:
            parts = _fitting(lengths, chars)
        if not 0 < parts < len(lengths):
            return False
        place = list(self.held).index(events)
        oldest, self.held[place] = events.parts(parts, lengths)
        self.held.insert(place, oldest)
        return True

    def _lengths(self, view: StepView, events: StepEvents) -> Sequence[int]:
        """The events' lines, without repeating the rest of a long step."""
        if events.lengths is not None:
            return events.lengths
        if not events.calls:  # else a call and the action that came of it make one line
            return self.line_lengths(view, events)
        return [len(view.own_line(event)) for event in events.events]

    def line_lengths(self, view: StepView, events: StepEvents) -> Sequence[int]:
        """Of each line of a step's text."""
        if events.lengths is not None and not events.calls:
            return events.lengths
        if not events.calls and events.never_stale:
            return [len(view.own_line(event)) for event in events.events]
        limit, voice = view.limits.event_chars, view.own_voice
        return [len(line.text) for line in events.lines(limit, voice)]

    def surely_fit(
        self, view: StepView, steps: Iterable[StepEvents], chars: int
    ) -> bool:
        """True if steps have room even with the longest lines; False: measure them."""
        longest = view.limits.event_chars + _LEFT_OUT
        counts = [len(each.events) for each in steps]
        return sum(counts) * longest + len(counts) * _HEADING <= chars

    def sizes(self, view: StepView) -> list[int]:
        """Tokens of each of its steps, oldest first, counted once."""
        return [self._measured(view, each)[0] for each in self.held]

    def chars(self, view: StepView, events: StepEvents) -> int:
        """About the length of a step's text, never less."""
        return self._measured(view, events)[1]

    def lengths(self, view: StepView) -> list[int]:
        """``chars`` of each of its steps."""
        return [self.chars(view, each) for each in self.held]

    def _measured(self, view: StepView, events: StepEvents) -> tuple[int, int]:
        """Tokens and characters of a step's events."""
        if events.measured is None:
            lengths = self.line_lengths(view, events)
            size = render.tokens_of(sum(lengths) + max(0, len(lengths) - 1))
            bullets = _BULLET * len(events.events)
            events.measured = size, 4 * size + _HEADING + bullets
        return events.measured


def _fitting(lengths: Iterable[int], chars: int) -> int:
    """The number of first lengths that fit, at least one."""
    used = 0
    for count, length in enumerate(lengths):
        used += length + 1
        if used > chars and count:
            return count
    return count + 1
