"""Tests of several things that do not depend on each other: each value once, in turn."""

from collections.abc import Iterable
from typing import Any

import pytest


def in_turn(quick: int | None = None, **axes: Iterable[Any]) -> Any:
    """Parametrizes a test: as many cases as the longest axis has values.

    A shorter axis goes round; with several of them all their combinations come up, as
    far as the longest one reaches.

    Args:
        quick: number of cases of the default run; the rest are slow. None takes all.
    """
    every = [list(values) for values in axes.values()]
    count, rounds, columns = max(map(len, every)), 1, []
    for values in every:
        columns.append([values[n // rounds % len(values)] for n in range(count)])
        rounds *= len(values) if len(values) < count else 1
    cases = [*zip(*columns)]
    left = [pytest.param(*c, marks=pytest.mark.slow) for c in cases[quick or count :]]
    return pytest.mark.parametrize(list(axes), cases[: quick or count] + left)
