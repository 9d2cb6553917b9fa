"""Lines of a memory, with the records behind them, and the events of a step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Self

from mesa_memory.core import render
from mesa_memory.core.content import is_id
from mesa_memory.core.events import event_text, is_call, merged
from mesa_memory.core.inbox import superseded
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.wording import ENGLISH, Voice, Wording
from mesa_memory.layers.context import LayerContext


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an agent's prompt.

    What rests on something that does not hold any more is shown as such.

    Attributes:
        text: the line, without a mark before it and without a line break.
        records: what it was made of; a line may tell of more than one record.
        step: the model's clock when it happened; None without a step.
        kind: of the event, such as ``"message"``, if the line is the event itself: it
            is shown by one layer only, and folded where it repeats. Empty for what a
            layer says of its records, which may stand beside them.
        rank: what is left out first if room is lacking: the lowest.
        wording: the words of the remark on a line that may not hold.
    """

    text: str
    records: tuple[MemoryRecord, ...] = ()
    step: Any = None
    kind: str = ""
    rank: float = 0.0
    wording: Wording = field(default=ENGLISH, repr=False, compare=False)

    def __post_init__(self) -> None:
        for record in self.records:
            if record.stale_since is not None:
                since = render.value_text(record.stale_since)
                told = self.wording.told("stale", line=self.text, step=since)
                object.__setattr__(self, "text", told)
                return

    @property
    def ids(self) -> list[str]:
        """Ids of its records; a line without records gets a unique key."""
        return [record.id for record in self.records] or [str(id(self))]


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


def of_step(events: StepEvents, context: LayerContext) -> list[Line]:
    """The events of a step, a line each."""
    voice, records = context.own_voice, events.events
    lines = events.lines(context.event_chars, voice)
    of = partial(Line, step=events.step, wording=voice.wording)
    if len(records) != len(lines):  # a call and what came of it make one line
        return [of(text, records, kind=kind) for kind, text in lines]
    return [
        of(text, (record,), kind=kind)
        for (kind, text), record in zip(lines, records, strict=True)
    ]


def of_steps(steps: Iterable[StepEvents], context: LayerContext) -> list[Line]:
    """The events of steps, a line each, in their order."""
    return [line for events in steps for line in of_step(events, context)]


def pending(context: LayerContext) -> list[Line]:
    """Events that are not admitted yet, one line each, oldest first."""
    additive = context.additive_event_types
    steps = (StepEvents.of(*group, additive) for group in context.pending())
    return of_steps(steps, context)


def folded(lines: Sequence[Line]) -> list[Line]:
    """Lines without repetitions that say nothing new; see ``render.repetitions``.

    What stays is the last of them, with how often it was, and the records of all.
    """
    kept = []
    for places in render.repetitions([(line.kind, line.text) for line in lines]):
        line = lines[places[-1]]
        if len(places) > 1:
            records = tuple(r for p in places for r in lines[p].records)
            first = lines[places[0]].step
            told = render.repeated(line.text, len(places), first, line.wording)
            line = replace(line, text=told, records=records)
        kept.append(line)
    return kept


def in_steps(lines: Sequence[Line], wording: Wording = ENGLISH) -> list[str]:
    """Lines as text, folded, one block for each step, in the order given."""
    return under_steps(folded(lines), wording)


def under_steps(lines: Iterable[Line], wording: Wording = ENGLISH) -> list[str]:
    """``in_steps`` for lines that are folded already."""
    steps: dict[Any, list[str]] = {}
    for line in lines:
        steps.setdefault(line.step, []).append(line.text)
    return [render.step_text(step, told, wording) for step, told in steps.items()]
