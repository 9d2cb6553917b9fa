"""Lines of a memory, with the records behind them, and the events of a step."""

from collections.abc import Hashable, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Self

from mesa_memory.core import render
from mesa_memory.core.events import BECAME, event_text, is_call, merged, recipients_of
from mesa_memory.core.inbox import unreplaced
from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.core.statement import KEEP, repetitions, statement
from mesa_memory.core.wording import ENGLISH, Voice, Wording
from mesa_memory.layers.view import StepView

_KIND_AND_CONTENT = attrgetter("kind", "content")


class _LineFields(NamedTuple):
    text: str
    records: tuple[MemoryRecord, ...] = ()
    step: Any = None
    kind: str = ""
    rank: float = 0.0
    wording: Wording = ENGLISH
    said: Hashable = None


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
        said: of an event, what lines that say the same share, see ``statement``; None
            compares their texts.
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
        said: Hashable = None,
    ) -> Self:
        """A line, marked if it may not hold; ``_replace`` marks nothing again."""
        for record in records:
            if record.stale_since is not None:
                since = render.value_text(record.stale_since)
                text = wording.told("stale", line=text, step=since)
                break
        return super().__new__(cls, text, records, step, kind, rank, wording, said)

    @property
    def ids(self) -> list[str]:
        """Ids of its records; a line without records gets a unique key."""
        return [record.id for record in self.records] or [str(id(self))]


class _Told(NamedTuple):
    """The lines of a step's events, and what else they depend on.

    Attributes:
        limit: longest line, in characters.
        names: of the agents in them, by unique id, as they were called then.
    """

    limit: int
    wording: Wording
    names: dict[Any, str]
    lines: list[Line]


class StepEvents:
    """The events of one step; they do not change.

    Attributes:
        step: the model's clock.
        events: the records, oldest first.
        calls: whether an event is a reply of litellm as Python; see ``events.is_call``.
        measured: tokens and characters, once they were counted.
        lengths: of each event's line, in a part of a step.
    """

    __slots__ = ("_told", "calls", "events", "lengths", "measured", "step")

    def __init__(self, step: float, events: Iterable[MemoryRecord]) -> None:
        self.step, self.events = step, tuple(events)
        plans = [event for event in self.events if event.kind == BECAME]
        self.calls = any(is_call(plan.kind, plan.content) for plan in plans)
        self.measured: tuple[int, int] | None = None
        self.lengths: Sequence[int] | None = None
        self._told: dict[Any, _Told] = {}  # by whom they call "you"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy makes its text anew: it belongs to the names of one model."""
        return StepEvents, (self.step, self.events)

    @property
    def never_stale(self) -> bool:
        """True if all of it has happened to the agent: no line is ever marked."""
        return {event.origin for event in self.events} == {EVENT}

    def lines(self, limit: int, voice: Voice) -> list[Line]:
        """A line for each event, oldest first; a call and its result are one.

        Args:
            limit: longest line, in characters.
        """
        key = voice.owner, voice.to_owner
        if (known := self._told.get(key)) is not None:
            chars, wording, names, lines = known
            same = chars == limit and wording is voice.wording
            if same and (names.items() <= voice.names.items() or voice.calls(names)):
                return lines
        names, lines = (self._merged if self.calls else self._each)(limit, voice)
        if self.never_stale:
            self._told[key] = _Told(limit, voice.wording, names, lines)
        return lines

    def _each(self, limit: int, voice: Voice) -> tuple[dict[Any, str], list[Line]]:
        """A line for each event, and the names in them."""
        names: dict[Any, str] = {}
        lines, step, wording = [], self.step, voice.wording
        for event in self.events:
            told, said = render.told(event, limit, voice), statement(event)
            names |= told.names
            text, kind = told.line, event.kind
            lines.append(Line(text, (event,), step, kind, 0.0, wording, said))
        return names, lines

    def _merged(self, limit: int, voice: Voice) -> tuple[dict[Any, str], list[Line]]:
        """``_each``, if some events share a line."""
        events, noting, lines = self.events, voice.noting(), []
        # Merging leaves messages as they are.
        said = iter([event for event in events if event.kind == "message"])
        told = merged(map(_KIND_AND_CONTENT, events))
        apart = iter(events) if len(told) == len(events) else None
        for kind, what in told:
            of = next(apart) if apart else next(said) if kind == "message" else None
            text = event_text(kind, what, limit, noting)
            records = (of,) if of else events
            same = statement(of) if of else None
            lines.append(Line(text, records, self.step, kind, 0.0, voice.wording, same))
        return noting.names, lines

    def parts(self, count: int, lengths: Sequence[int]) -> tuple[Self, Self]:
        """The oldest ``count`` events and the others.

        Args:
            lengths: of each event's line.
        """
        first = type(self)(self.step, self.events[:count])
        rest = type(self)(self.step, self.events[count:])
        first.lengths, rest.lengths = lengths[:count], lengths[count:]
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


def step_of(view: StepView, step: float, events: Sequence[MemoryRecord]) -> StepEvents:
    """The events of a step, without observations that a later one has replaced.

    What the last prompt has shown as pending has its lines already.
    """
    events = tuple(unreplaced(events, view.journal.additive_event_types))
    for known in view.journal.inbox.told:
        if known.step == step and known.events == events:
            return known
    return StepEvents(step, events)


def pending(view: StepView, beside: Sequence[MemoryRecord] = ()) -> list[Line]:
    """Events that are not admitted yet, one line each, by step.

    Args:
        beside: further events, which stand before the others of their step.
    """
    steps: dict[float, list[MemoryRecord]] = {}
    for event in beside:
        steps.setdefault(event.step, []).append(event)
    for step, events in view.pending():
        steps.setdefault(step, []).extend(events)
    told = [step_of(view, *each) for each in sorted(steps.items())]
    view.journal.inbox.told = told
    return of_steps(told, view)


def folded(
    lines: Sequence[Line], limit: int, voice: Voice, since: float | None = None
) -> list[Line]:
    """Lines without repetitions; see ``statement``.

    What stays is the last of them, with how often it was, and the records of all.

    Args:
        limit: longest line, in characters.
        since: from this step on, a conversation stays as it was.
    """
    keys = [
        line.said or ((line.kind, line.text) if line.kind else n)
        for n, line in enumerate(lines)
    ]
    if len(set(keys)) == len(keys):
        return list(lines)
    places = repetitions(keys)
    if since is not None:
        places = _apart(places, lines, since, voice.owner)
    return [
        lines[several[0]]
        if len(several) == 1
        else _one_line([lines[place] for place in several], limit, voice)
        for several in places
    ]


def _apart(
    groups: Sequence[Sequence[int]], lines: Sequence[Line], since: float, owner: Any
) -> list[list[int]]:
    """Repetitions without those within one conversation since a step."""
    found: list[list[int]] = []
    for places in groups:
        if len(places) == 1 or lines[places[-1]].kind != "message":
            found.append([*places])
            continue
        shown, rest = set[frozenset[Any]](), list[int]()
        for place in reversed(places):
            line = lines[place]
            event = line.records[0]
            if line.step < since or event.sender is None:
                rest.append(place)
                continue
            talk = frozenset([owner, event.sender, *recipients_of(event.content)])
            if talk in shown:
                found.append([place])
            else:
                rest.append(place)
            shown.add(talk)
        found.append(rest[::-1])
    return sorted(found, key=itemgetter(-1))


def _one_line(several: Sequence[Line], limit: int, voice: Voice) -> Line:
    """A line for several that say the same."""
    last, count = several[-1], len(several)
    events = tuple([record for line in several for record in line.records])
    rank = max([line.rank for line in several])
    text = repeated_text(events, last.text, count, limit, voice)
    return last._replace(text=text, records=events, rank=rank)


def repeated_text(
    events: Sequence[MemoryRecord], line: str, count: int, limit: int, voice: Voice
) -> str:
    """A line for events that say the same.

    Args:
        events: oldest first, as far as they are known.
        line: of the newest.
        count: of all.
    """
    if events[-1].kind == "message" and events[-1].sender is not None:
        return render.repeated_message(events, count, limit, voice)
    return render.repeated(line, count, events[0].step, voice.wording)


def in_steps(lines: Sequence[Line], view: StepView) -> list[str]:
    """Recent lines as text, folded, one block for each step, in the order given."""
    return under_steps(folded_for(view, lines, recent=True), view.wording)


def folded_for(
    view: StepView,
    lines: Sequence[Line],
    recent: bool = False,
    voice: Voice | None = None,
) -> list[Line]:
    """``folded``, unless the memory keeps repetitions.

    Args:
        recent: within one conversation of the last two steps nothing is folded.
        voice: of requests; None means the agent's own.
    """
    if view.limits.repetitions == KEEP or len(lines) < 2:
        return list(lines)
    since = lines[-1].step - 1 if recent else None
    return folded(lines, view.limits.event_chars, voice or view.own_voice, since)


def folded_events(view: StepView, steps: Iterable[StepEvents]) -> list[tuple[Any, str]]:
    """The events of some steps for a request, each repetition as a number."""
    limit, voice = view.limits.event_chars, view.voice
    lines = [line for each in steps for line in each.lines(limit, voice)]
    told = folded_for(view, lines, voice=voice)
    return [(line.step, line.text) for line in told]


def under_steps(lines: Iterable[Line], wording: Wording = ENGLISH) -> list[str]:
    """Lines as text, one block for each step, in the order given."""
    steps: dict[Any, list[str]] = {}
    for line in lines:
        if line.step not in steps:
            steps[line.step] = [render.step_heading(line.step, wording)]
        steps[line.step].append(line.text)
    return ["\n- ".join(told) for told in steps.values()]
