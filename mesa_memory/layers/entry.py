"""One step's events in Mesa-LLM's form, and messages."""

import copy
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Self

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from mesa_memory.core import render
from mesa_memory.core.content import is_id
from mesa_memory.core.events import event_text, is_call, merged
from mesa_memory.core.importance import GRADE_MIN
from mesa_memory.core.inbox import by_kind, superseded
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.snapshot import Opaque, SnapshotPart
from mesa_memory.core.wording import PLAIN, Voice, Wording
from mesa_memory.hosts.mesa_llm.agents import MemoryEntry
from mesa_memory.hosts.mesa_llm.names import Names, own_name

_ORIGINAL_DISPLAY = MemoryEntry.display
#: what a line tells of an event: (kind, content)
_TOLD_OF = attrgetter("kind", "content")


@dataclass(slots=True)
class _Lines:
    """The events of an entry as lines, and their other dependencies.

    Attributes:
        told: (kind, line), oldest first.
        limit: longest text of a line, in characters.
        names: of the agents in them, by unique id, as they were called then.
    """

    told: list[tuple[str, str]]
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

        noting = replace(voice, naming=noted)
        told = _lines_of(merged(list(map(_TOLD_OF, events))), limit, noting)
        return cls(told, limit, names, voice.wording)

    def hold(self, limit: int, voice: Voice) -> bool:
        """True if they would be the same now: all names are unchanged."""
        same = limit == self.limit and voice.wording is self.wording
        return same and all(voice(who) == name for who, name in self.names.items())


def _printable(text: str, encoding: str) -> str:
    """``text`` without characters that the console cannot show."""
    return text.encode(encoding, "replace").decode(encoding)


@dataclass(init=False, eq=False)
class Entry(MemoryEntry, SnapshotPart):
    """One step's events, in Mesa-LLM's form; knows its agent, but does not hold it.

    Attributes:
        content: kind -> content, or a list of contents for additive kinds.
        step: the model's clock; None only while Mesa-LLM's protocol wants it so.
        events: the records behind it, in order of arrival.
    """

    # A ClassVar is no dataclass field: asdict and pickle leave the model alone.
    agent: ClassVar[Any]
    events: tuple[MemoryRecord, ...]
    measured: tuple[int, int] | None = None  #: tokens and characters, once asked for
    lengths: Sequence[int] | None = None  #: of each event's line, in a part of a step

    def __init__(
        self,
        agent: Any,
        step: float | None,
        events: Iterable[MemoryRecord],
        content: dict | None = None,
        additive: Iterable[str] = (),
    ) -> None:
        if content is not None:
            self.content = content
        self._additive = frozenset(additive)
        self.step = step  # type: ignore[assignment]
        self.events = tuple(events)
        self._lines: dict[Any, _Lines] = {}  # by whom they call "you"
        self.bind(agent)

    @cached_property
    def content(self) -> dict:  # type: ignore[override]
        """Put together once it is read: what is left of a long step changes often."""
        return by_kind(self.events, self._additive)

    @cached_property
    def calls(self) -> bool:
        """True if an event is a reply of litellm as Python; see ``events.is_call``."""
        return any(is_call(event.kind, event.content) for event in self.events)

    def told(self, limit: int, voice: Voice) -> list[tuple[str, str]]:
        """See ``entry_told``; the lines are made once, as they are asked for often."""
        key = voice.owner, voice.to_owner
        lines = self._lines.get(key)
        if lines is None or not lines.hold(limit, voice):
            lines = self._lines[key] = _Lines.of(self.events, limit, voice)
        return lines.told

    def bind(self, agent: Any) -> None:
        """Makes this an entry of ``agent``."""
        self._agent = weakref.ref(agent)

    def kept(self) -> tuple[float | None, tuple[MemoryRecord, ...]]:
        """See ``snapshot.SnapshotPart``."""
        return (self.step, self.events)

    @classmethod
    def of(
        cls, agent: Any, step: float, events: Sequence[MemoryRecord], additive: set[str]
    ) -> "Entry":
        """The entry of one step; replaced observations are left out."""
        if old := superseded(events, additive):
            gone = set(map(id, old))
            events = [event for event in events if id(event) not in gone]
        return cls(agent, step, events, additive=additive)

    def parts(self, count: int, lengths: Sequence[int]) -> "tuple[Entry, Entry]":
        """The oldest ``count`` events and the others, as two entries of its step.

        What is known of all events is not worked out again for each part.

        Args:
            lengths: of each event's line.
        """
        first, rest = (
            Entry(self.agent, self.step, events, additive=self._additive)
            for events in (self.events[:count], self.events[count:])
        )
        first.lengths, rest.lengths = lengths[:count], lengths[count:]
        if not self.calls:
            first.calls = rest.calls = False
        return first, rest

    def __str__(self) -> str:
        """The events as plain lines."""
        return "\n".join(entry_lines(self, 1000))

    def display(self) -> None:
        """Prints the entry, if its agent's memory displays, under its own step."""
        if MemoryEntry.display is not _ORIGINAL_DISPLAY:  # a user has replaced it
            return MemoryEntry.display(self)
        if self.agent is None or not getattr(self.agent.memory, "display", False):
            return None
        agent = f"{type(self.agent).__name__} {self.agent.unique_id}"
        agent = f"{name} ({agent})" if (name := own_name(self.agent)) else agent
        console = Console()
        title = f"Step {render.value_text(self.step)} | {agent}"
        text = "\n".join(entry_lines(self, 1000))
        safe = [_printable(part, console.encoding) for part in (text, title)]
        # Text, not markup: what agents say is shown as they said it.
        panel = Panel(Text(safe[0]), title=Text(safe[1]), title_align="left")
        return console.print(panel)

    def __getstate__(self) -> dict:
        return {**vars(self), "_agent": None, "_lines": {}}

    def __deepcopy__(self, memo: dict) -> "Entry":
        agent = memo.get(id(self.agent), self.agent)
        content = copy.deepcopy(self.content, memo)
        return Entry(
            agent, self.step, copy.deepcopy(self.events, memo), content, self._additive
        )


def _agent_of(entry: Entry) -> Any:
    return entry._agent and entry._agent()


Entry.agent = property(_agent_of)  # type: ignore[misc]


@dataclass(frozen=True)
class Message:
    """A message with its sender, recipients and step.

    Attributes:
        step: the model's clock when it arrived.
        sender: unique id, or None if it was not given.
        recipients: unique ids, as far as the owner of the memory knows them.
    """

    step: float
    sender: Any
    recipients: tuple
    text: str

    @classmethod
    def of(cls, step: float, content: Any) -> "Message":
        """A message from an event's content; a bare text comes without a sender."""
        if not isinstance(content, dict):
            return cls(step, None, (), str(content))
        said = content.get("message")
        text = (
            said
            if isinstance(said, str)
            else render.message_text(
                {k: v for k, v in content.items() if k != "sender"}
            )
        )
        recipients = content.get("recipients") or ()
        several = isinstance(recipients, list | tuple)
        return cls(
            step,
            content.get("sender"),
            tuple(recipients) if several else (recipients,),
            text,
        )

    def line(self, voice: Voice = PLAIN) -> str:
        """``Agent 4 says: …`` on one line."""
        said = {"message": self.text, "sender": self.sender}
        said["recipients"] = list(self.recipients)
        return render.message_text(said, voice=voice)


def entry_events(entry: MemoryEntry) -> list[tuple[str, Any]]:
    """(kind, content) of each event, oldest first; also of entries made elsewhere."""
    if isinstance(entry, Entry):
        return list(map(_TOLD_OF, entry.events))
    return [
        (kind, content)
        for kind, contents in entry.content.items()
        for content in (contents if isinstance(contents, list) else [contents])
    ]


def records_of(entries: Iterable[MemoryEntry]) -> list[MemoryRecord]:
    """The records behind entries, in order; entries made elsewhere have an empty one."""
    return [event for entry in entries for event in getattr(entry, "events", ())]


def entry_lines(
    entry: MemoryEntry, limit: int, voice: Voice | None = None
) -> list[str]:
    """The events of an entry, one line each."""
    return [line for _, line in entry_told(entry, limit, voice)]


def entry_told(
    entry: MemoryEntry, limit: int, voice: Voice | None = None
) -> list[tuple[str, str]]:
    """(kind, line) of each event of an entry, oldest first.

    Args:
        voice: names and words; None calls agents by their names, in English.
    """
    if voice is None:
        model = getattr(entry.agent, "model", None)
        voice = PLAIN if model is None else Voice(Names.of(model))
    if isinstance(entry, Entry):
        return entry.told(limit, voice)
    return _lines_of(merged(entry_events(entry)), limit, voice)


def _lines_of(
    events: Sequence[tuple[str, Any]], limit: int, voice: Voice
) -> list[tuple[str, str]]:
    return [(k, event_text(k, c, limit, voice)) for k, c in events]


def entry_snapshot(entry: MemoryEntry) -> Any:
    """An entry for a snapshot: itself, or of one made elsewhere step and content."""
    if isinstance(entry, Entry):
        return entry
    return (entry.step, Opaque(entry.content))


def moved_entries(kept: Sequence[Any], later: float) -> list[Any]:
    """Entries of a decoded snapshot, with ``later`` steps added to the step of each."""
    return [[None if s is None else s + later, content] for s, content in kept]


def restored(kept: Sequence[Any], context: Any) -> MemoryEntry:
    """The entry of an ``entry_snapshot``.

    Args:
        context: of the layer that holds it.
    """
    step, held = kept
    if isinstance(held, dict):
        return MemoryEntry(content=held, step=step, agent=context.agent)
    return Entry.of(context.agent, step, held, context.additive_event_types)


def importance_of(entry: MemoryEntry) -> float | None:
    """An entry's grade; of one made elsewhere the number found in its content, or 1."""
    if isinstance(entry, Entry):
        return entry.events[0].importance
    nested = [v for v in entry.content.values() if isinstance(v, dict)]
    for content in (entry.content, *nested):
        if "importance" in content:
            value = content["importance"]
            return value if isinstance(value, int | float) else GRADE_MIN
    return GRADE_MIN


def foreign(entries: Iterable[MemoryEntry]) -> list[Message]:
    """The messages in entries that were not made here, in order."""
    return [
        Message.of(entry.step or 0, content)
        for entry in entries
        if not isinstance(entry, Entry)
        for kind, content in entry_events(entry)
        if kind == "message"
    ]
