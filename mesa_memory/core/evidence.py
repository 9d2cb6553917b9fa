"""Which current records rest on which, so that what rests on a mistake is known."""

from collections.abc import Callable, Iterable
from typing import Any


class Evidence:
    """The current records of one memory that rest on other current ones.

    What has ended cannot end again, so nothing is kept of it.
    """

    def __init__(self) -> None:
        self._resting: dict[str, dict[str, Any]] = {}  # on a record, by its id

    def add(self, record: Any, sources: Iterable[str]) -> None:
        """Takes note of what a record rests on.

        Args:
            sources: ids of current records.
        """
        for source in sources:
            if source != record.id:
                self._resting.setdefault(source, {})[record.id] = record

    def move(self, old: str, new: str) -> None:
        """What rested on one record rests on another one, which says the same."""
        if resting := self._resting.pop(old, None):
            resting.pop(new, None)
            self._resting.setdefault(new, {}).update(resting)

    def end(self, record: str, without: str | None = None) -> list[Any]:
        """All current records that rest on one that has ended, at any distance.

        Args:
            without: id of what has taken its place; it, and what rests on it, is sound.
        """
        found: dict[str, Any] = {}
        ahead = [self._resting.pop(record, {})]
        while ahead:
            for key, resting in ahead.pop().items():
                if key != without and key not in found and resting.current:
                    found[key] = resting
                    ahead.append(self._resting.get(key, {}))
        return list(found.values())


def successors(
    sources: Iterable[str],
    current: Callable[[str], bool],
    look_up: Callable[[str], Any],
) -> list[str]:
    """The current records among sources, or what has taken their place.

    Args:
        current: says whether a record with this id is.
        look_up: gives a record by its id; None if it is unknown.
    """
    found = []
    for source in sources:
        seen: set[str] = set()
        key: str | None = source
        while key and key not in seen and not current(key):
            seen.add(key)
            record = look_up(key)
            key = None if record is None else record.superseded_by
        if key and current(key):
            found.append(key)
    return found
