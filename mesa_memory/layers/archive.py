"""Events that went into a summary, kept word for word as far as there is room."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from mesa_memory.core.records import BY_HAND, MemoryRecord
from mesa_memory.tasks.grade import offline_grade

#: most characters of all lines of the events together
ARCHIVE_CHARS = 20_000


class Archived(NamedTuple):
    """An event, the length of its line, and how much it matters."""

    event: MemoryRecord
    length: int
    grade: float


class EventArchive:
    """The events from which a summary can be made anew.

    Where the room is used up, the least important are left out, of those the oldest. An
    event without a grade is rated by its kind and words.

    Args:
        chars: most characters of all lines together.
    """

    def __init__(self, chars: int = ARCHIVE_CHARS) -> None:
        self.chars = chars
        self._held: list[Archived] = []

    def add(
        self, events: Iterable[MemoryRecord], line: Callable[[MemoryRecord], str]
    ) -> None:
        """Takes up events that are newer than those held.

        Args:
            line: gives an event as it is told, on one line.
        """
        for event in events:
            text, grade = line(event), event.importance
            own = offline_grade(event.kind, text) if grade is None else grade
            self._held.append(Archived(event, len(text), own))
        self._held = self._within(self.chars)

    def events(self, chars: int | None = None) -> list[MemoryRecord]:
        """The events, oldest first; what was taken out by hand is not among them.

        Args:
            chars: most characters of their lines together; None gives all that are held.
        """
        held = self._held if chars is None else self._within(chars)
        return [h.event for h in held if h.event.closed_because not in BY_HAND]

    def clear(self) -> None:
        """Forgets all of them."""
        self._held = []

    def _within(self, chars: int) -> list[Archived]:
        size = sum(held.length for held in self._held)
        left_out: set[int] = set()
        # Sorting keeps the order of those that matter alike: the oldest come first.
        for place, held in sorted(enumerate(self._held), key=lambda one: one[1].grade):
            if size <= chars:
                break
            left_out.add(place)
            size -= held.length
        return [held for place, held in enumerate(self._held) if place not in left_out]
