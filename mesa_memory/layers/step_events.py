"""The events of one step, as layers hold and show them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, Self

from mesa_memory.core.content import is_id
from mesa_memory.core.events import event_text, is_call, merged
from mesa_memory.core.inbox import superseded
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.wording import Voice, Wording

_KIND_AND_CONTENT = attrgetter("kind", "content")


@dataclass(slots=True)
class _Lines:
    """The events of a step as lines, and their other dependencies.

    Attributes:
        lines: (kind, line), oldest first.
        limit: longest text of a line, in characters.
        names: of the agents in them, by unique id, as they were called then.
    """

    lines: list[tuple[str, str]]
    limit: int
    names: dict[Any, str]
    wording: Wording

    @classmethod
    def of(cls, events: Iterable[MemoryRecord], limit: int, voice: Voice) -> Self:
        """The lines of events, and the names in them."""
        names: dict[Any, str] = {}

        def noted(unique_id: Any) -> str:
            name = voice(unique_id)
            if is_id(unique_id):  # else it has no name that could change
                names[unique_id] = name
            return name

        noting = replace(voice, naming=noted, names={})
        told = merged(list(map(_KIND_AND_CONTENT, events)))
        lines = [(kind, event_text(kind, what, limit, noting)) for kind, what in told]
        return cls(lines, limit, names, voice.wording)

    def hold(self, limit: int, voice: Voice) -> bool:
        """True if they would be the same now: all names are unchanged."""
        same = limit == self.limit and voice.wording is self.wording
        return same and all(voice(who) == name for who, name in self.names.items())


class StepEvents:
    """The events of one step; they do not change.

    Attributes:
        step: the model's clock.
        events: the records, oldest first.
        measured: tokens and characters, once they were counted.
        lengths: of each event's line, in a part of a step.
    """

    measured: tuple[int, int] | None = None
    lengths: Sequence[int] | None = None

    def __init__(self, step: float, events: Iterable[MemoryRecord]) -> None:
        self.step, self.events = step, tuple(events)
        self._lines: dict[Any, _Lines] = {}  # by whom they call "you"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy makes its lines anew: they belong to the names of one model."""
        return StepEvents, (self.step, self.events)

    @classmethod
    def of(
        cls, step: float, events: Sequence[MemoryRecord], additive: set[str]
    ) -> Self:
        """The events of a step, without observations that a later one has replaced."""
        if old := superseded(events, additive):
            gone = set(old)
            events = [event for event in events if event not in gone]
        return cls(step, events)

    @cached_property
    def calls(self) -> bool:
        """True if an event is a reply of litellm as Python; see ``events.is_call``."""
        return any(is_call(event.kind, event.content) for event in self.events)

    def lines(self, limit: int, voice: Voice) -> list[tuple[str, str]]:
        """(kind, line) of each event, oldest first; a call and its result are one.

        Args:
            limit: longest line, in characters.
        """
        key = voice.owner, voice.to_owner
        lines = self._lines.get(key)
        if lines is None or not lines.hold(limit, voice):
            lines = self._lines[key] = _Lines.of(self.events, limit, voice)
        return lines.lines

    def parts(self, count: int, lengths: Sequence[int]) -> tuple[Self, Self]:
        """The oldest ``count`` events and the others.

        Args:
            lengths: of each event's line.
        """
        first = type(self)(self.step, self.events[:count])
        rest = type(self)(self.step, self.events[count:])
        first.lengths, rest.lengths = lengths[:count], lengths[count:]
        if not self.calls:
            first.calls = rest.calls = False
        return first, rest


def records_of(steps: Iterable[StepEvents]) -> list[MemoryRecord]:
    """The events of some steps, in order."""
    return [event for each in steps for event in each.events]


def moved_steps(kept: Iterable[Sequence[Any]], later: float) -> list[Any]:
    """Steps of a decoded snapshot, ``later`` steps later."""
    return [[step + later, events] for step, events in kept]
