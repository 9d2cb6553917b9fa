"""Snapshots of a memory or a model, as plain JSON that refers to records by id.

A snapshot is taken between two steps and holds the records themselves; ``encode`` puts
references in their place, ``decode`` puts records back. Text of agents is data: a
content that looks like a reference stays what it is.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from mesa_memory.core.content import plain
from mesa_memory.core.records import MemoryRecord
from mesa_memory.errors import StoreCorrupt

_RECORD, _VALUE, _NUMBER = "$record", "$value", "$number"
#: what any JSON reader takes as a whole number
_EXACT = 2**53


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


class Opaque:
    """Wraps plain data that a snapshot must not look into.

    Attributes:
        value: a copy, as plain data.
    """

    def __init__(self, value: Any) -> None:
        self.value = plain(value)


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


def held(value: Any) -> Iterator[MemoryRecord]:
    """The records in a snapshot, in order, some more than once."""
    if isinstance(value, MemoryRecord):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from held(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from held(item)


def without(value: Any, gone: str) -> Any:
    """An encoded snapshot without the references to a record."""
    reference = {_RECORD: gone}
    if isinstance(value, list):
        return [without(item, gone) for item in value if item != reference]
    if not isinstance(value, dict) or _VALUE in value:
        return value
    return {
        key: None if item == reference else without(item, gone)
        for key, item in value.items()
    }


def encode(value: Any) -> Any:
    """A snapshot as JSON-ready data."""
    if isinstance(value, MemoryRecord):
        return {_RECORD: value.id}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Opaque):
        return {_VALUE: value.value}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, int) and not -_EXACT < value < _EXACT:
        return {_NUMBER: str(value)}
    return value


def decode(value: Any, shelf: RecordLookup | None = None) -> Any:
    """The snapshot again, with the records of ``shelf``; tuples have become lists.

    Raises:
        KeyError: if it refers to a record that is not there.
    """
    if isinstance(value, list):
        return [decode(item, shelf) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        if key == _RECORD and shelf is not None:
            return shelf[item]
        if key == _VALUE:
            return item
        if key == _NUMBER:
            return int(item)
    return {key: decode(item, shelf) for key, item in value.items()}
