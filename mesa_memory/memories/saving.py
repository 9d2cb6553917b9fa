"""Takes a memory's snapshot, and restores it."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from mesa_memory.core.inbox import Commit, Group
from mesa_memory.core.records import EVICTED, MemoryRecord, Observer, RecordLog
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup, held
from mesa_memory.memories.layers import layers_of, set_layers
from mesa_memory.memories.own_state import own_records, own_state, take_up
from mesa_memory.memories.reading import Reading
from mesa_memory.runtime.queue import CommitQueue


class Saving(Reading):
    """A memory whose state can be kept apart from its records."""

    @property
    def journal(self) -> RecordLog:
        """What makes and numbers the records of this memory; for who records a run."""
        return self._journal

    def snapshot(self) -> dict[str, Any]:
        """What its records do not say of its state; taken between two steps.

        Attributes that a subclass adds are in it, as far as they are plain data or
        records; for anything else, extend this method and ``restore``.

        The work of finished steps must have been joined (``Services.flush``).
        """
        return {
            "layer": self.layer,
            "layers": layers_of(self.agent),
            "numbers": dict(self._journal.numbers),
            "staging": self._staging.snapshot(),
            "waiting": [(c.now, c.groups) for c in self._work.waiting],
            "failures": self._work.failures,
            **({"lived": self._lived} if self._lived else {}),
            **({"own": own} if (own := own_state(self)) else {}),
            **({"names": left} if (left := self._names.departed()) else {}),
        }

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up a snapshot in place of what is remembered now.

        Args:
            snapshot: of a memory of this class with the same arguments.
            shelf: the records of that memory.
        """
        self.layer = self._journal.layer = snapshot["layer"]
        set_layers(self.agent, snapshot["layers"])
        self._journal.numbers.clear()
        self._journal.numbers.update(snapshot["numbers"])
        self._staging.restore(snapshot["staging"])
        self._work = CommitQueue(self._settle, self._performer, self._lock)
        self._work.failures = snapshot["failures"]
        self._lived = snapshot.get("lived", 0)
        self._names.remember(snapshot.get("names", ()))
        for now, groups in snapshot["waiting"]:
            self._put(now, [(step, events) for step, events in groups])
        self._log = deque(shelf.of_kind("message", last=self.history_capacity))
        self._model = None  # the new work is registered at the next request
        self._journal.adopt(shelf.current())
        take_up(self, snapshot.get("own", {}))

    def current_records(self) -> list[MemoryRecord]:
        """The records that are held and whose lifetime is open, oldest first.

        In ``remember``, also what its step brought. Entries that were made elsewhere
        have no record.
        """
        self._settled()
        dropped = self._dropped()
        for _, events in self._settling.groups if self._settling else ():
            for event in events:
                dropped.pop(event.id, None)
        found = [r for r in self._journal.current() if r.id not in dropped]
        return sorted(found, key=lambda record: record.place)

    def recount(self, observer: Observer) -> None:
        """Tells an observer that comes late of all that this memory goes by."""
        for record in self._held():
            observer.opened(record)
            if not record.current:
                observer.closed(record)

    def close_dropped(self) -> None:
        """Closes the records that this memory does not hold any more.

        Called after each batch, and at the end of each recorded step of the model. A
        record is held by the memory's own parts, or by the attributes that a user's
        class adds; the message log alone holds none.
        """
        with self._lock:
            for record in self._dropped().values():
                self._journal.close(record, self._now(), EVICTED)

    def _dropped(self) -> dict[str, MemoryRecord]:
        """The open records that nothing holds, by id, in order of making."""
        found = {record.id: record for record in self._journal.current()}
        for find in (self._keeps, partial(own_records, self)):
            for record in find() if found else ():
                found.pop(record.id, None)
        return found

    def _keeps(self) -> Iterator[MemoryRecord]:
        """What this memory's own parts hold, in any order."""
        yield from self._staging.events()
        for commit in self._work.waiting:
            for _, events in commit.groups:
                yield from events

    def _held(self) -> list[MemoryRecord]:
        """All records that this memory goes by, oldest first, closed ones too."""
        found = [*held(self.snapshot()), *own_records(self), *self._log]
        return sorted({r.id: r for r in found}.values(), key=lambda r: r.place)

    def _put(self, now: float, groups: list[Group]) -> None:
        """Queues a batch of finished steps."""
        place = self.services.chronicle.next_place()
        self._work.put(Commit(now, groups, place))

    @abstractmethod
    def _settle(self, commit: Commit) -> Flow[None]:
        """Takes up one batch."""
