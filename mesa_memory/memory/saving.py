"""Takes a memory's snapshot, and restores it."""

from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any

from mesa_memory.effects import Steps
from mesa_memory.memory.reading import Reading
from mesa_memory.records import MemoryRecord
from mesa_memory.scheduler import Work
from mesa_memory.snapshots import Shelf, held
from mesa_memory.staging import Commit, Group


class Saving(Reading):
    """A memory whose state can be kept apart from its records."""

    def snapshot(self) -> dict[str, Any]:
        """What its records do not say of its state; taken between two steps.

        The work of finished steps must have been joined (``Services.flush``).
        """
        return {
            "numbers": dict(self._journal.numbers),
            "staging": self._staging.snapshot(),
            "waiting": [(c.now, c.groups) for c in self._work.waiting],
            "failures": self._work.failures,
        }

    def restore(self, snapshot: Mapping[str, Any], shelf: Shelf) -> None:
        """Takes up a snapshot in place of what is remembered now.

        Args:
            snapshot: of a memory of this class with the same arguments.
            shelf: the records of that memory.
        """
        self._journal.numbers.clear()
        self._journal.numbers.update(snapshot["numbers"])
        self._staging.restore(snapshot["staging"])
        self._work = Work(self._settle, self._performer)
        self._work.failures = snapshot["failures"]
        for now, groups in snapshot["waiting"]:
            self._put(now, [(step, events) for step, events in groups])
        self._log = deque(shelf.of_kind("message", last=self.history_capacity))
        self._model = None  # the new work is registered at the next request

    def current_records(self) -> list[MemoryRecord]:
        """The records whose lifetime is open, oldest first.

        Entries that were made elsewhere have no record.
        """
        self._settled()
        return [record for record in self._held() if record.current]

    def _held(self) -> list[MemoryRecord]:
        """All records that this memory goes by, oldest first, closed ones too."""
        found = [*held(self.snapshot()), *self._log]
        return sorted({r.id: r for r in found}.values(), key=lambda r: r.place)

    def _put(self, now: float, groups: list[Group]) -> None:
        """Queues a batch of finished steps."""
        place = self.services.chronicle.next_place()
        self._work.put(Commit(now, groups, place))

    @abstractmethod
    def _settle(self, commit: Commit) -> Steps[None]:
        """Takes up one batch."""
