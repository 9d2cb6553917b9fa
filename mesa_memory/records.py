"""The one record type: everything an agent remembers, with its lifetime.

A record belongs to one agent and one layer, was made at a step, names the records it
came from, and is current from ``valid_from`` until ``valid_to``. Changing a memory
closes one record and opens another, so history, audit and time travel read the same
table. Ids count up per agent, layer and kind: no clock, no random numbers.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

#: why a record's lifetime ended
EVICTED, CONSOLIDATED, SUPERSEDED = "evicted", "consolidated", "superseded"


@dataclass(slots=True, eq=False)
class MemoryRecord:
    """One thing an agent remembers.

    Attributes:
        id: unique in the run: ``"agent/layer/kind/number"``.
        agent: unique id of the owner.
        layer: the memory that keeps it, such as ``"stlt"``.
        kind: ``"observation"``, ``"message"``, … for events; ``"summary"``,
            ``"impression"`` for what a memory made of them.
        step: the model's clock when it arrived or was made.
        content: plain data (see ``content.plain``).
        importance: 1 (irrelevant) to 5 (critical); None while not graded.
        subject: unique id of the agent it is about, for impressions.
        sources: ids of the records it was made from, oldest first.
        valid_from, valid_to: the steps between which it was current; None is open.
        closed_because: ``"evicted"``, ``"consolidated"``, ``"superseded"`` or None.
        superseded_by: id of the record that took its place.
        embedding: unit vector, shape (dim,), or None.
    """

    id: str
    agent: Any
    layer: str
    kind: str
    step: float
    content: dict[str, Any]
    importance: float | None = None
    subject: Any = None
    sources: tuple[str, ...] = ()
    valid_from: float = field(default=0)
    valid_to: float | None = None
    closed_because: str | None = None
    superseded_by: str | None = None
    embedding: Any = None

    @property
    def current(self) -> bool:
        """True while its lifetime is open."""
        return self.valid_to is None


class Observer(Protocol):
    """Is told of every change of every memory of a model, in order."""

    def opened(self, record: MemoryRecord) -> None:
        """A record's lifetime begins."""

    def graded(self, record: MemoryRecord) -> None:
        """A record's importance is known now."""

    def closed(self, record: MemoryRecord) -> None:
        """A record's lifetime has ended."""


class Journal:
    """Makes, closes and numbers the records of one memory.

    Args:
        observers: told of each change; usually the model's own list, shared.
    """

    def __init__(self, layer: str, observers: Iterable[Observer] = ()) -> None:
        self.layer = layer
        self.observers = observers
        self._numbers: Counter[str] = Counter()

    def __getstate__(self) -> dict[str, Any]:
        """Layer and numbers; who observes belongs to the run, not to the memory."""
        return {**vars(self), "observers": ()}

    def open(
        self, agent: Any, kind: str, step: float, content: dict, **fields: Any
    ) -> MemoryRecord:
        """A new current record; ``fields`` are further ``MemoryRecord`` fields."""
        self._numbers[kind] += 1
        record = MemoryRecord(
            f"{agent}/{self.layer}/{kind}/{self._numbers[kind]}",
            agent,
            self.layer,
            kind,
            step,
            content,
            valid_from=step,
            **fields,
        )
        for observer in self.observers:
            observer.opened(record)
        return record

    def grade(self, record: MemoryRecord, importance: float) -> None:
        """Fills in a record's importance."""
        record.importance = importance
        for observer in self.observers:
            observer.graded(record)

    def close(
        self,
        record: MemoryRecord,
        step: float,
        because: str,
        by: MemoryRecord | None = None,
    ) -> None:
        """Ends a record's lifetime; a closed record stays as it is."""
        if not record.current:
            return
        record.valid_to = step
        record.closed_because = because
        record.superseded_by = by.id if by else None
        for observer in self.observers:
            observer.closed(record)
