"""Types of columns that refuse what does not belong there.

SQLite keeps anything in any column, so a file of somebody else may hold text where a
number is read. PostgreSQL keeps to its types by itself.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import sqlalchemy as sa

from mesa_memory.errors import StoreCorrupt

#: JSON that is nested deeper than this was not written by this package
DEEPEST = 100


class _Checked(ABC):
    """A column's type whose values are looked at when they are read.

    Attributes:
        place: table and column, for the message.
        wanted: what belongs there.
    """

    place = "a column"
    wanted = ""

    @abstractmethod
    def right(self, value: Any) -> bool:
        """True for a value that belongs there."""

    def adapt(self, cls: Any, **given: Any) -> Any:
        """See SQLAlchemy: the type as a database has it, of the same column."""
        adapted = super().adapt(cls, **given)  # type: ignore[misc]
        adapted.place = self.place
        return adapted

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        """See SQLAlchemy; None is left to the database, which knows where it may be."""
        plain = super().result_processor(dialect, coltype)  # type: ignore[misc]
        if dialect.name == "postgresql":
            return plain

        def read(value: Any) -> Any:
            if value is None or self.right(value):
                return plain(value) if plain else value
            raise wrong(self.place, self.wanted, value)

        return read


class Text(_Checked, sa.Text):
    """Text."""

    wanted = "text"

    def right(self, value: Any) -> bool:
        """See above."""
        return type(value) is str


class _Whole(_Checked):
    """Whole numbers."""

    wanted = "a whole number"

    def right(self, value: Any) -> bool:
        """See above."""
        return type(value) is int


class Integer(_Whole, sa.Integer):
    """A whole number."""


class BigInteger(_Whole, sa.BigInteger):
    """A whole number of 64 bits."""


class Double(_Checked, sa.Double):
    """A finite number."""

    wanted = "a finite number"

    def right(self, value: Any) -> bool:
        """See above."""
        return type(value) in (float, int) and math.isfinite(value)


class Boolean(_Checked, sa.Boolean):
    """True or false."""

    wanted = "0 or 1"

    def right(self, value: Any) -> bool:
        """See above."""
        return type(value) in (int, bool) and value in (0, 1)


def wrong(place: str, wanted: str, value: Any) -> StoreCorrupt:
    """The error for a value that does not belong where it is."""
    return StoreCorrupt(
        f"{place} holds {value!r:.60}, not {wanted}. The file was changed or damaged; "
        "restore a backup."
    )


def too_deep(value: Any) -> bool:
    """True for plain data that is nested deeper than ``DEEPEST``."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for one in level
            if isinstance(one, list | dict)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True
