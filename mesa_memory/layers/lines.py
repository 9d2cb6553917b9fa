"""Lines of a memory, with the records behind them, and the events of a step."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, Self

from mesa_memory.core import render
from mesa_memory.core.events import BECAME, event_text, is_call, merged
from mesa_memory.core.inbox import superseded
from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.core.wording import ENGLISH, Voice, Wording
from mesa_memory.layers.view import StepView

_KIND_AND_CONTENT = attrgetter("kind", "content")
_KIND_AND_TEXT = attrgetter("kind", "text")


class _LineFields(NamedTuple):
    text: str
    records: tuple[MemoryRecord, ...] = ()
    step: Any = None
    kind: str = ""
    rank: float = 0.0
    wording: Wording = ENGLISH


class Line(_LineFields):
    """One line of an agent's prompt.

    A line that rests on something that does not hold any more is marked as such.

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

    __slots__ = ()

    def __new__(
        cls,
        text: str,
        records: tuple[MemoryRecord, ...] = (),
        step: Any = None,
        kind: str = "",
        rank: float = 0.0,
        wording: Wording = ENGLISH,
    ) -> Self:
        """A line, marked if it may not hold; ``_replace`` marks nothing again."""
        for record in records:
            if record.stale_since is not None:
                since = render.value_text(record.stale_since)
                text = wording.told("stale", line=text, step=since)
                break
        return super().__new__(cls, text, records, step, kind, rank, wording)

    @property
    def ids(self) -> list[str]:
        """Ids of its records; a line without records gets a unique key."""
        return [record.id for record in self.records] or [str(id(self))]


class _Texts:
    """The events of a step as text, and what else the text depends on.

    Attributes:
        texts: kind and line of each event, oldest first.
        limit: longest line, in characters.
        names: of the agents in them, by unique id, as they were called then.
        lines: the same as lines of a prompt; None until they are asked for.
    """

    __slots__ = ("limit", "lines", "names", "texts", "wording")

    def __init__(
        self, events: Sequence[MemoryRecord], limit: int, voice: Voice, calls: bool
    ) -> None:
        self.limit, self.wording = limit, voice.wording
        self.lines: list[Line] | None = None
        if calls:
            noting = voice.noting()
            self.names, told = noting.names, merged(map(_KIND_AND_CONTENT, events))
            self.texts = [(k, event_text(k, what, limit, noting)) for k, what in told]
            return
        self.names, self.texts = {}, []
        for event in events:
            line = render.told(event, limit, voice)
            self.names |= line.names
            self.texts.append((event.kind, line.line))

    def hold(self, limit: int, voice: Voice) -> bool:
        """True if they would be the same now: all names are unchanged."""
        same = limit == self.limit and voice.wording is self.wording
        known = self.names.items() <= voice.names.items()
        return same and (known or voice.calls(self.names))


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
        self._texts: dict[Any, _Texts] = {}  # by whom they call "you"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy makes its text anew: it belongs to the names of one model."""
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
        plans = [event for event in self.events if event.kind == BECAME]
        return bool([plan for plan in plans if is_call(plan.kind, plan.content)])

    def texts(self, limit: int, voice: Voice) -> list[tuple[str, str]]:
        """Kind and line of each event, oldest first; a call and its result are one.

        Args:
            limit: longest line, in characters.
        """
        return self._told(limit, voice).texts

    def lines(self, limit: int, voice: Voice) -> list[Line]:
        """The same as lines of a prompt, with the records behind them."""
        told, records = self._told(limit, voice), self.events
        if told.lines is not None:
            return told.lines
        apart = len(records) == len(told.texts)  # else a call and its result are one
        lines = [
            Line(
                text,
                (records[place],) if apart else records,
                self.step,
                kind,
                wording=voice.wording,
            )
            for place, (kind, text) in enumerate(told.texts)
        ]
        if {record.origin for record in records} == {EVENT}:  # never stale
            told.lines = lines
        return lines

    def _told(self, limit: int, voice: Voice) -> _Texts:
        key = voice.owner, voice.to_owner
        told = self._texts.get(key)
        if told is None or not told.hold(limit, voice):
            told = self._texts[key] = _Texts(self.events, limit, voice, self.calls)
        return told

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


def of_steps(steps: Iterable[StepEvents], view: StepView) -> list[Line]:
    """The events of steps, a line each, in their order."""
    limit, voice = view.limits.event_chars, view.own_voice
    return [line for each in steps for line in each.lines(limit, voice)]


def pending(view: StepView) -> list[Line]:
    """Events that are not admitted yet, one line each, oldest first."""
    additive = view.journal.additive_event_types
    groups = view.pending()
    steps = [StepEvents.of(step, events, additive) for step, events in groups]
    return of_steps(steps, view)


def folded(lines: Sequence[Line]) -> list[Line]:
    """Lines without repetitions that say nothing new; see ``render.repetitions``.

    What stays is the last of them, with how often it was, and the records of all.
    """
    kept = []
    for places in render.repetitions(list(map(_KIND_AND_TEXT, lines))):
        line = lines[places[-1]]
        if len(places) > 1:
            records = tuple([r for p in places for r in lines[p].records])
            first = lines[places[0]].step
            told = render.repeated(line.text, len(places), first, line.wording)
            line = line._replace(text=told, records=records)
        kept.append(line)
    return kept


def in_steps(lines: Sequence[Line], wording: Wording = ENGLISH) -> list[str]:
    """Lines as text, folded, one block for each step, in the order given."""
    return under_steps(folded(lines), wording)


def under_steps(lines: Iterable[Line], wording: Wording = ENGLISH) -> list[str]:
    """``in_steps`` for lines that are folded already."""
    steps: dict[Any, list[str]] = {}
    for line in lines:
        if line.step not in steps:
            steps[line.step] = [render.step_heading(line.step, wording)]
        steps[line.step].append(line.text)
    return ["\n- ".join(told) for told in steps.values()]
