"""Checks of arguments: each gives the value back, or says what was wrong with it."""

import math
from numbers import Integral, Real
from typing import Any


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``, as an int.

    Raises:
        ValueError: for anything else, also for True and 2.0.
    """
    fits = isinstance(value, Integral) and not isinstance(value, bool)
    if not fits or value < least:
        raise ValueError(f"{name} must be >= {least} and a whole number, got {value!r}")
    return int(value)


def number(
    name: str, value: Any, least: float = 0.0, above: bool = False
) -> float | int:
    """A finite number of at least ``least``, or above it.

    Raises:
        ValueError: for anything else, also for True and NaN.
    """
    fits = isinstance(value, Real) and not isinstance(value, bool)
    if (
        not fits
        or not math.isfinite(value)
        or value < least
        or above * (value == least)
    ):
        relation = "above" if above else ">="
        raise ValueError(f"{name} must be {relation} {least:g}, got {value!r}")
    return value  # type: ignore[return-value]
