"""The memory stream itself: one entry for each event, in the order of arrival."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core.inbox import Group
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.redaction import logger as logger_of
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.errors import BadReply
from mesa_memory.memories.entry import Entry, entry_snapshot
from mesa_memory.memories.reflecting import Reflecting

logger = logger_of(__name__)


class Stream(deque):
    """Entries of a memory stream; forgetting is by score, so none fall out by age."""

    def __init__(self, entries: Iterable = (), capacity: int = 200) -> None:
        super().__init__(entries)
        self.capacity = capacity

    @property
    def maxlen(self) -> int:
        """The capacity; events that wait for their grade may exceed it."""
        return self.capacity


class Streaming(Reflecting):
    """Keeps entries, grades and embeds them as they come, and reflects on them."""

    _stream: Stream
    _fresh: list[Entry]  # the newest entries, those without a grade among them
    _tries: dict[str, int]  # how often the model did not grade an event, by its id

    def __new__(cls, *args: Any, **kwargs: Any) -> "Streaming":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._stream = Stream()
        self._fresh = []
        self._tries = {}
        return self

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; what of the stream is not its current records."""
        strangers: list[tuple[int, Any]] = []
        if set(map(type, self._stream)) - {Entry}:  # there hardly ever are any
            strangers = [
                (position, entry_snapshot(entry))
                for position, entry in enumerate(self._stream)
                if not isinstance(entry, Entry)
            ]
        tries = {"tries": list(self._tries.items())} if self._tries else {}
        return (
            super().snapshot()
            | tries
            | {
                "fresh": [entry.events[0] for entry in self._fresh],
                "strangers": strangers,
                "accessed": self._index.accessed(),
            }
        )

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        waiting = [e for entry in self._pending() for e in entry.events]
        pending = {event.id for event in waiting}
        self._stream.clear()
        self._fresh = []
        fresh = {event.id for event in snapshot["fresh"]}
        self._tries = dict(snapshot.get("tries", ()))
        for event in shelf.current():
            if event.id not in pending:
                entry = self._event_entry(event)
                self._stream.append(entry)
                if event.id in fresh:
                    self._fresh.append(entry)
        for position, kept in snapshot["strangers"]:
            self._stream.insert(position, self._entry_from(kept))
        self._forget_index()
        if not self.services.embeds_here:  # only what is new is embedded later
            self._align()
            if bare := [r for r in self._index.lacking() if r.id not in fresh]:
                self._embed_here(bare)
        if snapshot["accessed"]:
            self._align()  # what a local embedder has to do is done at the next recall
            self._index.set_accessed(snapshot["accessed"])

    def _take_up(self) -> Flow[None]:
        """Grades and embeds what is new; what gets no grade stays new for a while."""
        yield from self._grade_fresh()
        done = [e for e in self._fresh if e.events[0].id not in self._tries]
        if not self.services.embeds_here:
            self._take_in()
            yield from self._embed(done)
        self._fresh = [e for e in self._fresh if e.events[0].id in self._tries]
        self._forget()
        if self.services.embeds_here:
            self._announce(e for e in done if e.events[0].current)

    def _grade_fresh(self) -> Flow[None]:
        """Grades the new events; every grade that came is kept.

        An event that the model cannot grade is no reason to stop a run: it is tried
        again as often as a failing step is, and then stays without a grade.

        Raises:
            LLMError: what ended the asking, if it was no unusable reply.
        """
        fresh = self._ungraded()
        if not fresh:
            return
        fresh.sort(key=lambda entry: self._tries.get(entry.events[0].id, 0))
        graded = yield from self._grade([entry.events[0] for entry in fresh])
        for place, entry in enumerate(fresh):
            if place in graded.grades:
                self._journal.grade(entry.events[0], graded.grades[place])
                self._gather(entry.events[0])
                _show_grade(entry)
        limit = self.services.failures_allowed
        if graded.problem and (limit == 1 or not isinstance(graded.problem, BadReply)):
            raise graded.problem
        left = [entry.events[0].id for entry in self._ungraded()]
        tried = {event: self._tries.get(event, 0) + 1 for event in left}
        self._tries = {event: tries for event, tries in tried.items() if tries < limit}
        if self._tries:
            logger.warning(
                "%s; kept and tried again at the next step (%d in a row), %d event(s) "
                "have no grade yet",
                str(graded.problem),
                max(self._tries.values()),
                len(self._tries),
            )
        if given_up := len(left) - len(self._tries):
            logger.warning("%d event(s) stay without a grade", given_up)

    def _keeps(self) -> Iterator[MemoryRecord]:
        yield from super()._keeps()
        for entry in (*self._stream, *self._fresh):
            yield from getattr(entry, "events", ())

    def _held(self) -> list[MemoryRecord]:
        own = [e.events[0] for e in self._stream if isinstance(e, Entry)]
        found = {record.id: record for record in [*super()._held(), *own]}
        return sorted(found.values(), key=lambda record: record.place)

    @abstractmethod
    def _forget(self) -> None:
        """Closes what exceeds the capacity."""

    def _admit(self, groups: Sequence[Group]) -> None:
        for event in (event for _, events in groups for event in events):
            entry = self._event_entry(event)
            self._gather(event)  # a grade it came with
            self._stream.append(entry)
            self._fresh.append(entry)
            self._show(entry)

    def _event_entry(self, event: MemoryRecord) -> Entry:
        content = event.content
        shown = dict(content) if isinstance(content, dict) else content
        entry = Entry(self.agent, event.step, [event], {event.kind: shown})
        _show_grade(entry)
        return entry

    def _entries(self) -> list[MemoryEntry]:
        return list(self._stream)

    def _kept(self) -> Stream:
        return self._stream

    def _recent(self) -> list[MemoryEntry]:
        """What is not yet graded, by step; all else is recalled, not listed."""
        steps: dict[float, list[MemoryRecord]] = {}
        for entry in [*self._ungraded(), *self._pending()]:
            steps.setdefault(entry.step or 0, []).extend(entry.events)
        return [self._entry(step, events) for step, events in sorted(steps.items())]

    def _ungraded(self) -> list[Entry]:
        return [entry for entry in self._fresh if is_ungraded(entry)]


def is_ungraded(entry: MemoryEntry) -> bool:
    """True while an event's grade is awaited."""
    return isinstance(entry, Entry) and entry.events[0].importance is None


def _show_grade(entry: Entry) -> None:
    """Puts the grade into the entry's content, but never over the user's own field."""
    event = entry.events[0]
    shown = entry.content[event.kind]
    if event.importance is not None and isinstance(shown, dict):
        shown.setdefault("importance", event.importance)
