"""Measured values as plain data for tables."""

import math
from collections import deque
from collections.abc import Container, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import numpy as np

from mesa_memory.core.codec import encode, missing
from mesa_memory.errors import MeasureError

#: deeper values are refused
MAX_DEPTH = 12
#: longer numbers are refused
MAX_DIGITS = 300
#: types that stay as they are
_PLAIN = (bool, str, PurePath, type(None))
#: prefix of a variable of a DataCollector whose name another column has
COLLECTED = "collected_"


def measured(what: str, name: str, value: Any) -> Any:
    """A value of an outcome or a measure as JSON.

    Numbers are numbers: those of numpy, ``Decimal``, ``Fraction``, members of ``IntEnum``,
    and arrays of one number. Larger arrays are lists. Dates and times have ISO form, and a
    ``timedelta`` is in seconds. A member of an ``Enum`` is its name, a set a sorted list,
    and a key of a dict a text.

    Args:
        what: ``"outcomes"`` or ``"measures"``.
        name: of the outcome or measure.

    Raises:
        MeasureError: for anything else.
    """
    try:
        return encode(_native(value))
    except (TypeError, ValueError, ArithmeticError) as error:
        kind = type(value).__name__
        inside = "" if str(error) == kind else f" ({error})"
        raise MeasureError(
            f"{what}[{name!r}] is of the type {kind}{inside}, which no table can keep: "
            "return a number, a text, a date, or a list, set or dict of these"
        ) from error


def collected(value: Any) -> Any:
    """A variable of a DataCollector as JSON; a placeholder if it has no such form."""
    try:
        return encode(_native(value))
    except (TypeError, ValueError, ArithmeticError):
        return missing(value)


def distinct_names(values: Mapping[Any, Any], taken: Container[str]) -> dict[str, Any]:
    """Collected values by name; a name that is taken begins with ``COLLECTED``."""
    found, names = {}, {str(name) for name in values}
    for name, value in values.items():
        own = shown = str(name)
        while shown in taken or (shown != own and shown in names):
            shown = COLLECTED + shown
        found[shown] = value
    return found


def _native(value: Any, depth: int = 0) -> Any:
    """A value as ``encode`` takes it.

    Raises:
        TypeError: says what has no plain form.
    """
    if depth > MAX_DEPTH:
        raise TypeError(f"more than {MAX_DEPTH} levels")
    if isinstance(value, Enum):
        value = value.value if isinstance(value, int | str) else value.name
    if isinstance(value, np.ndarray | np.generic):
        return _native(_of_numpy(value), depth + 1)
    if type(value) in _PLAIN:
        return value
    if isinstance(value, int | float | Decimal | Fraction):
        return _number(value)
    if isinstance(value, date | time | timedelta):
        return _moment(value)
    if isinstance(value, set | frozenset):
        return sorted((_native(item, depth + 1) for item in value), key=_order)
    if isinstance(value, tuple | list | deque):
        items = [_native(item, depth + 1) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        keys = [_native(key, depth + 1) for key in value]
        names = [key if type(key) is str else str(key) for key in keys]
        if len(set(names)) < len(names):
            raise TypeError("two keys of one text")
        return {n: _native(v, depth + 1) for n, v in zip(names, value.values())}
    if isinstance(value, str | PurePath):
        return str.__str__(value) if isinstance(value, str) else value
    raise TypeError(type(value).__name__)


def _of_numpy(value: Any) -> Any:
    """A number, or a list of numbers; times as Python has them."""
    if value.dtype.kind == "M":
        value = np.where(np.isnat(value), None, np.datetime_as_string(value))
    elif value.dtype.kind == "m":
        value = value / np.timedelta64(1, "s")
    elif value.dtype.kind == "f":  # a long double is no number of Python's
        value = value.astype(float)
    items = value.tolist()
    while value.size == 1 and isinstance(items, list):
        (items,) = items
    return items


def _number(value: Any) -> int | float:
    """A number as an int if it is whole, unless it is a float."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Decimal) and value.is_nan():
        return math.nan
    if isinstance(value, Decimal) and abs(value.adjusted()) > MAX_DIGITS:
        raise ValueError("a number too large or too small for a float")
    whole = not (isinstance(value, Decimal) and value.is_infinite()) and value % 1 == 0
    return int(value) if whole else float(value)


def _moment(value: date | time | timedelta) -> Any:
    """ISO form, or seconds; None in place of a missing time."""
    if value != value:  # pandas' NaT
        return None
    return value.total_seconds() if isinstance(value, timedelta) else value.isoformat()


def _order(value: Any) -> tuple[str, Any]:
    number = isinstance(value, int | float)
    return ("", value) if number else (type(value).__name__, str(value))
