"""The records of a memory as Mesa-LLM's entries, and entries that become records."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import MutableSequence as _By
from dataclasses import dataclass
from math import isfinite
from operator import index as place_of
from typing import Any, ClassVar

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from mesa_memory.core.events import plain_event
from mesa_memory.core.importance import GRADE_MIN
from mesa_memory.core.inbox import by_kind, unreplaced
from mesa_memory.core.records import EVENT, IMPORTED, MemoryRecord
from mesa_memory.core.render import value_text
from mesa_memory.core.wording import PLAIN, Voice
from mesa_memory.hosts.mesa_llm import MemoryEntry, Names, own_name
from mesa_memory.layers.lines import StepEvents

_ORIGINAL_DISPLAY = MemoryEntry.display
#: longest text of an event in a printed entry
_PRINTED_CHARS = 1000
#: kind of the only event of an entry whose content is not by kind
_FLAT = "memory"


@dataclass(init=False, eq=False)
class Entry(MemoryEntry):
    """Events of one step in Mesa-LLM's form.

    Attributes:
        content: kind -> content, or a list of contents for additive kinds.
        step: the model's clock; None only while Mesa-LLM's protocol wants it so.
        events: the records behind it, oldest first.
    """

    # A ClassVar is no dataclass field: asdict and pickle leave the model alone.
    agent: ClassVar[Any]
    events: tuple[MemoryRecord, ...]

    def __init__(
        self,
        memory: Any,
        step: float | None,
        events: Iterable[MemoryRecord],
        content: dict | None = None,
    ) -> None:
        self.step, self.events = step, tuple(events)  # type: ignore[assignment]
        self.content = (
            by_kind(self.events, memory.additive_event_types)
            if content is None
            else content
        )
        self.agent = memory.agent  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        """Compares content, step and agent, as Mesa-LLM's entries do."""
        return isinstance(other, MemoryEntry) and (
            (self.content, self.step) == (other.content, other.step)
            and self.agent is other.agent
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """The events as plain lines."""
        model = getattr(self.agent, "model", None)
        voice = PLAIN if model is None else Voice(Names.of(model))
        lines = StepEvents(self.step or 0, self.events).lines(_PRINTED_CHARS, voice)
        return "\n".join(line.text for line in lines)

    def display(self) -> None:
        """Prints the entry, if its agent's memory displays, under its own step."""
        if MemoryEntry.display is not _ORIGINAL_DISPLAY:  # a user has replaced it
            return MemoryEntry.display(self)
        if self.agent is None or not getattr(self.agent.memory, "display", False):
            return None
        agent = f"{type(self.agent).__name__} {self.agent.unique_id}"
        agent = f"{name} ({agent})" if (name := own_name(self.agent)) else agent
        console = Console()
        title = f"Step {value_text(self.step)} | {agent}"
        encoding = console.encoding  # may lack some of the characters
        text, title = (
            part.encode(encoding, "replace").decode(encoding)
            for part in (str(self), title)
        )
        # Text, not markup: what agents say is shown as they said it.
        panel = Panel(Text(text), title=Text(title), title_align="left")
        return console.print(panel)

    def __getstate__(self) -> dict:
        return {**vars(self), "agent": None}


class Entries[Part](deque):
    """A layer's content as Mesa-LLM's entries, oldest first; a live view.

    Reading makes entries. An entry that is put in becomes records at once, of origin
    ``"imported"``; one that was read here before keeps its records.

    Args:
        memory: the memory of the layer.
        layer: holds the content as a sequence ``held``.
    """

    def __init__(self, memory: Any, layer: Any) -> None:
        self._memory, self._layer = memory, layer

    @abstractmethod
    def entry(self, part: Part) -> Entry:
        """The entry of a part of the layer's content."""

    @abstractmethod
    def parts(self, entry: MemoryEntry) -> Sequence[Part]:
        """The parts of the layer's content that an entry becomes.

        Raises:
            TypeError: for anything but an entry.
        """

    def changed(self) -> None:
        """Tells the layer that its content was changed by hand."""

    def _all(self) -> Sequence[Part]:
        """The parts to show."""
        return self._layer.held

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Entry]:
        return map(self.entry, list(self._all()))

    def __getitem__(self, place: Any) -> Entry:
        return self.entry(self._all()[place_of(place)])

    def __setitem__(self, place: Any, entry: MemoryEntry) -> None:
        place = range(len(self._layer.held))[place_of(place)]
        self._put(place, self.parts(entry), instead=1)

    def __delitem__(self, place: Any) -> None:
        self._put(range(len(self._layer.held))[place_of(place)], (), instead=1)

    def insert(self, place: Any, entry: MemoryEntry) -> None:
        """Puts an entry before this place."""
        self._put(
            slice(place_of(place), None).indices(len(self._layer.held))[0],
            self.parts(entry),
        )

    def _put(self, place: int, new: Iterable[Part], instead: int = 0) -> None:
        with self._memory.exclusive():
            held = list(self._layer.held)
            held[place : place + instead] = new
            self._layer.held.clear()
            self._layer.held.extend(held)
            self.changed()

    append, extend, __iadd__ = _By.append, _By.extend, _By.__iadd__  # type: ignore[assignment]
    pop, remove, reverse = _By.pop, _By.remove, _By.reverse  # type: ignore[assignment]
    index, count = _By.index, _By.count  # type: ignore[assignment]
    __contains__, __reversed__ = _By.__contains__, _By.__reversed__

    def clear(self) -> None:
        """Takes all entries out."""
        self._put(0, (), instead=len(self._layer.held))

    def appendleft(self, entry: MemoryEntry) -> None:
        """Puts an entry before all others."""
        self.insert(0, entry)

    def extendleft(self, entries: Iterable[MemoryEntry]) -> None:
        """Puts entries before all others, one after the other."""
        for entry in entries:
            self.insert(0, entry)

    def popleft(self) -> Entry:
        """Takes the oldest entry out."""
        return self.pop(0)

    def rotate(self, count: int = 1) -> None:
        """Moves entries from the end to the beginning."""
        order = deque(self._layer.held)
        order.rotate(count)
        self._put(0, order, instead=len(order))

    def copy(self) -> deque[Entry]:  # type: ignore[override]
        """The entries as they are now."""
        return deque(self)

    __copy__ = copy  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, deque) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return deque, (list(self),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"

    @property
    def maxlen(self) -> int | None:  # type: ignore[override]
        """The layer's capacity; new events may exceed it for a while."""
        return self._layer.capacity


class StepEntries(Entries[StepEvents]):
    """The steps of a window, an entry each.

    Args:
        waiting: whether the last entry has, while the agent steps, the events that had
            arrived before.
    """

    def __init__(self, memory: Any, layer: Any, waiting: bool = False) -> None:
        super().__init__(memory, layer)
        self._waiting = waiting

    def entry(self, part: StepEvents) -> Entry:
        """The entry of a step."""
        return Entry(self._memory, part.step, part.events)

    def parts(self, entry: MemoryEntry) -> Sequence[StepEvents]:
        """The step that an entry becomes; none without content."""
        records = imported(self._memory, entry)
        return [StepEvents(records[0].step, records)] if records else []

    def replace(self, entries: Iterable[MemoryEntry]) -> None:
        """Puts these entries in the place of all others, whose records are erased."""
        self._layer.replace([part for entry in entries for part in self.parts(entry)])

    def _all(self) -> Sequence[StepEvents]:
        memory = self._memory
        if self._waiting and (events := memory.journal.inbox.waiting()):
            return [*self._layer.held, StepEvents(memory.now, events)]
        return self._layer.held


class EventEntries(Entries[MemoryRecord]):
    """The events of a stream, an entry each, with their grades."""

    def entry(self, part: MemoryRecord) -> Entry:
        """The entry of an event; its grade never hides a field of its own."""
        content = dict(part.content)
        if part.importance is not None:
            content.setdefault("importance", part.importance)
        shown = content if part.kind == _FLAT else {part.kind: content}
        return Entry(self._memory, part.step, (part,), shown)

    def parts(self, entry: MemoryEntry) -> Sequence[MemoryRecord]:
        """The events of an entry, with the grade in it, or else the lowest."""
        records = imported(self._memory, entry, _FLAT)
        for record in records:
            if record.importance is None and record.origin == IMPORTED:
                grade = min(_grade_in(entry.content), self._memory.importance_scale)
                self._memory.journal.grade(record, grade)
        return records

    def changed(self) -> None:
        """The index is brought in line at the next recall."""
        self._layer.index.is_aligned = False


def imported(
    memory: Any, entry: MemoryEntry, flat: str | None = None
) -> Sequence[MemoryRecord]:
    """The records of an entry, of origin ``"imported"`` if it was made elsewhere.

    Args:
        flat: the kind of an entry that is one event, whose fields are not kinds; by
            default each field is an event.

    Raises:
        TypeError: for anything but an entry.
    """
    if not isinstance(entry, MemoryEntry) or not isinstance(entry.content, dict):
        raise TypeError(
            f"a memory holds entries of Mesa-LLM, got {entry!r:.80}: use "
            "MemoryEntry(content={kind: content}, step=step, agent=agent)"
        )
    journal, records = memory.journal, getattr(entry, "events", ())
    if records and set(records).issubset(journal.current()):
        return records
    now, content, names = memory.clock, entry.content, memory.view().names.all
    step = now if entry.step is None else entry.step
    if flat and not any(isinstance(value, dict | list) for value in content.values()):
        content = {"message" if "message" in content else flat: content}
    events = (
        plain_event(kind, event, names)
        for kind, events in content.items()
        for event in (events if isinstance(events, list) else [events])
    )
    return [
        journal.open_event(
            memory.agent.unique_id, kind, step, kept, IMPORTED, valid_from=now
        )
        for kind, kept in events
    ]


def _grade_in(content: dict) -> float:
    """The number under ``importance`` in an entry or its first content; or the lowest."""
    for each in (content, *content.values()):
        grade = each.get("importance") if isinstance(each, dict) else None
        if isinstance(grade, int | float) and isfinite(grade):
            return max(GRADE_MIN, grade)
    return GRADE_MIN


class HeldSteps:
    """The attribute of a memory that has its window's steps as entries.

    Args:
        waiting: see ``StepEntries``.
    """

    def __init__(self, waiting: bool = False) -> None:
        self.__doc__ = "The entries kept, oldest first; may be changed or replaced."
        self._waiting = waiting

    def __get__(self, memory: Any, owner: type | None = None) -> Any:
        if memory is None:
            return self
        memory.settle()
        return StepEntries(memory, vars(memory)["_window"], self._waiting)

    def __set__(self, memory: Any, entries: Iterable[MemoryEntry]) -> None:
        if hasattr(memory, "agent"):  # else its constructor was not called
            memory.settle()
        with memory.exclusive():
            StepEntries(memory, vars(memory)["_window"]).replace(entries)


def step_entries(memory: Any) -> list[Entry]:
    """The events that a memory holds, as one entry for each step, oldest first."""
    pending = set(memory.journal.inbox.events())
    steps: dict[float, list[MemoryRecord]] = {}
    for record in memory.current_records():
        if record.origin == EVENT and record not in pending:
            steps.setdefault(record.step, []).append(record)
    return [entry_of_step(memory, *step) for step in sorted(steps.items())]


def entry_of_step(memory: Any, step: float, events: Sequence[MemoryRecord]) -> Entry:
    """The entry of a step; observations that a later one has replaced are left out."""
    return Entry(memory, step, unreplaced(events, memory.additive_event_types))
