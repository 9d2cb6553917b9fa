"""The records of one memory, read from a store."""

from typing import Any

import sqlalchemy as sa

from mesa_memory.records import MemoryRecord
from mesa_memory.stores.base import Store
from mesa_memory.stores.schema import records


class StoreShelf:
    """The records of an agent's layer as they were at the end of a step.

    The run must have been taken back to that step (``Store.truncate``).

    Args:
        agent: the agent's unique id.
    """

    def __init__(self, store: Store, run: int, agent: Any, layer: str) -> None:
        self._store, self._agent = store, agent
        own = {"run": run, "agent": str(agent), "layer": layer}
        self._own = sa.select(records).filter_by(**own)
        self._read: dict[str, MemoryRecord] = {}

    def __getitem__(self, key: str) -> MemoryRecord:
        """See ``snapshots.Shelf``."""
        if not self._read:
            self.current()
        if key not in self._read and not self._all(self._own.filter_by(id=key)):
            raise KeyError(f"the run has no record {key!r}")
        return self._read[key]

    def current(self) -> list[MemoryRecord]:
        """See ``snapshots.Shelf``."""
        open_ = self._own.where(records.c.valid_to.is_(None))
        return self._all(open_.order_by(records.c.seq))

    def of_kind(self, kind: str, last: int | None = None) -> list[MemoryRecord]:
        """See ``snapshots.Shelf``."""
        newest = self._own.filter_by(kind=kind).order_by(records.c.seq.desc())
        return self._all(newest.limit(last))[::-1]

    def _all(self, query: sa.Select) -> list[MemoryRecord]:
        with self._store.reading() as on:
            rows = list(on.execute(query).mappings())
        return [self._record(row) for row in rows]

    def _record(self, row: Any) -> MemoryRecord:
        known = self._read.get(row["id"])
        if known is None:
            known = self._read[row["id"]] = _record(row, self._agent)
        return known


def _record(row: Any, agent: Any) -> MemoryRecord:
    return MemoryRecord(
        id=row["id"],
        agent=agent,
        layer=row["layer"],
        kind=row["kind"],
        step=_clock(row["step"]),
        content=row["content"],
        importance=row["importance"],
        subject=row["subject"],
        sources=tuple(row["sources"] or ()),
        valid_from=_clock(row["valid_from"]),
        valid_to=row["valid_to"]
        if row["valid_to"] is None
        else _clock(row["valid_to"]),
        closed_because=row["closed_because"],
        superseded_by=row["superseded_by"],
        place=(0, row["seq"]),
    )


def _clock(step: float) -> float:
    """A step as the model counts it: whole where it is."""
    return int(step) if step == int(step) else step
