"""The records that the snapshot of a memory refers to, by their ids."""

from collections.abc import Callable, Mapping
from typing import Protocol

from mesa_memory.core.records import MemoryRecord
from mesa_memory.errors import StoreCorrupt


class RecordLookup(Protocol):
    """The records of one memory, as they were at the time of a snapshot."""

    def __getitem__(self, key: str) -> MemoryRecord:
        """The record with this id; always the same object.

        Raises:
            KeyError: if it does not exist.
        """

    def current(self) -> list[MemoryRecord]:
        """Those whose lifetime was open, in order."""

    def of_kind(self, kind: str, last: int | None = None) -> list[MemoryRecord]:
        """All of a kind that were not taken out by hand, in order; closed ones, too.

        Args:
            last: the most records to give, the newest; None is all.
        """


def look_up(shelf: RecordLookup, key: str | None) -> MemoryRecord | None:
    """A record by its id; None if the memory does not have it."""
    try:
        return shelf[key] if key else None
    except (KeyError, StoreCorrupt):
        return None


def newest(found: list[MemoryRecord], last: int | None) -> list[MemoryRecord]:
    """The last records of a list, in order; None is all."""
    return found if last is None else found[max(0, len(found) - last) :]


class FilteredRecords:
    """The records of one memory for which a condition is true.

    Args:
        lookup: has all of them.
        keep: the condition.
    """

    def __init__(
        self, lookup: RecordLookup, keep: Callable[[MemoryRecord], bool]
    ) -> None:
        self._lookup, self._keep = lookup, keep

    def __getitem__(self, key: str) -> MemoryRecord:
        """See ``RecordLookup``."""
        return self._lookup[key]

    def current(self) -> list[MemoryRecord]:
        """See ``RecordLookup``."""
        return list(filter(self._keep, self._lookup.current()))

    def of_kind(self, kind: str, last: int | None = None) -> list[MemoryRecord]:
        """See ``RecordLookup``."""
        return newest(list(filter(self._keep, self._lookup.of_kind(kind))), last)


def records_after(lookup: RecordLookup, before: Mapping[str, int]) -> RecordLookup:
    """The records of one memory, without the ones that ended before it was exchanged.

    Args:
        before: how many of each kind had been made when it was exchanged.
    """
    if not before:
        return lookup
    return FilteredRecords(
        lookup, lambda r: r.current or r.number > before.get(r.series, 0)
    )


class InMemoryRecords:
    """A shelf of records that are at hand.

    Args:
        records: by the id under which a snapshot knows them.
    """

    def __init__(self, records: Mapping[str, MemoryRecord]) -> None:
        self._records = dict(records)

    def __getitem__(self, key: str) -> MemoryRecord:
        """See ``RecordLookup``."""
        return self._records[key]

    def current(self) -> list[MemoryRecord]:
        """See ``RecordLookup``."""
        return [record for record in self._ordered() if record.current]

    def of_kind(self, kind: str, last: int | None = None) -> list[MemoryRecord]:
        """See ``RecordLookup``."""
        found = [record for record in self._ordered() if record.kind == kind]
        return newest(found, last)

    def _ordered(self) -> list[MemoryRecord]:
        return sorted(self._records.values(), key=lambda record: record.order)
