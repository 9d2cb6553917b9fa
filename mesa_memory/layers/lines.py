"""Lines of a memory, with the records behind them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.wording import ENGLISH, Wording
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.step_events import StepEvents


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
