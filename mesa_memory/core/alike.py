"""Copies of frozen data that differ in some values: several are made for each request."""

from typing import Any


def alike[T](data: T, **values: Any) -> T:
    """``dataclasses.replace`` in an eighth of its time.

    Args:
        data: of a data class that checks nothing when it is made, and has no slots.
        values: by the names of its fields; what it has computed of others must not
            depend on them.
    """
    made = object.__new__(type(data))
    object.__setattr__(made, "__dict__", vars(data) | values)  # it may be frozen
    return made
