"""Links from current records to their sources, which make stale records known."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any


class Evidence:
    """The current records of one memory that rest on other current ones.

    What has ended cannot end again, so nothing is kept of it.
    """

    def __init__(self) -> None:
        self._resting: dict[str, dict[str, Any]] = {}  # on a record, by its id

    def add(self, record: Any, sources: Iterable[str]) -> None:
        """Notes the evidence of a record.

        Args:
            sources: ids of current records.
        """
        for source in sources:
            if source != record.id:
                self._resting.setdefault(source, {})[record.id] = record

    def move(self, old: str, new: Any) -> None:
        """Moves the links of a record to another one that says the same."""
        if old not in self._resting:
            return
        if resting := _before(self._resting.pop(old), new):
            self._resting.setdefault(new.id, {}).update(resting)

    def forget(self, record: str) -> None:
        """Forgets the dependents of a record that has ended and still holds."""
        self._resting.pop(record, None)

    def end(self, record: str, by: Any = None) -> list[Any]:
        """All current records that rest on one that has ended, at any distance.

        Args:
            by: what has taken its place; it, and what rests on it, is sound.
        """
        found: dict[str, Any] = {}
        ahead = [_before(self._resting.pop(record, {}), by)]
        while ahead:
            for key, resting in ahead.pop().items():
                sound = by is not None and key == by.id
                if not sound and key not in found and resting.current:
                    found[key] = resting
                    ahead.append(self._resting.get(key, {}))
        return list(found.values())


def _before(resting: dict[str, Any], by: Any) -> dict[str, Any]:
    """The records up to the first one that replaced another.

    Layers that think at the same time may be done in any order, so the records' own
    order counts.
    """
    if by is None:
        return resting
    return {key: record for key, record in resting.items() if record.order < by.order}


def successors(
    of: Any, current: Mapping[str, Any], look_up: Callable[[str], Any]
) -> list[str]:
    """The current records among a record's sources, or their replacements.

    What had already taken the place of a source does not count: the record rests on
    what had ended by then, which cannot end again.

    Args:
        of: the record.
        current: all current records by their ids.
        look_up: gives a record that has ended by its id; None if it is unknown.
    """
    found = []
    for source in of.sources:
        seen: set[str] = set()
        key: str | None = source
        while key and key not in seen and key not in current:
            seen.add(key)
            ended = look_up(key)
            key = None if ended is None else ended.superseded_by
            by = current.get(key) or look_up(key) if key else None
            if by is not None and by.order < of.order:
                key = None
        if key and key in current:
            found.append(key)
    return found
