"""Policies: the time at which entries go into the running summary.

A policy is a value with one method: of the entries held, oldest first, how many of the
oldest are due now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Protocol

from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.layers.view import StepView
from mesa_memory.layers.window import Window


class Policy(Protocol):
    """Decides how many of the oldest entries to consolidate."""

    def due(self, tokens: Sequence[int], capacity: int) -> int:
        """The number of oldest entries that are due now.

        Args:
            tokens: the size of each entry held, oldest first.
            capacity: how many entries the memory is meant to keep.
        """


@dataclass(frozen=True)
class EveryBatch:
    """``size`` entries whenever more than capacity + size are held (Mesa-LLM)."""

    size: int = 2

    def __post_init__(self) -> None:
        checked_int("size", self.size)

    def due(self, tokens: Sequence[int], capacity: int) -> int:
        """See ``Policy``; after an outage, all overdue batches at once."""
        surplus = len(tokens) - capacity - self.size
        if surplus <= 0:
            return 0
        return min(len(tokens), self.size * ceil(surplus / self.size))


@dataclass(frozen=True)
class OverTokens:
    """All but the last ``keep_last`` once more than ``limit`` tokens are held."""

    limit: int = 1500
    keep_last: int = 4

    def __post_init__(self) -> None:
        checked_int("limit", self.limit)
        checked_int("keep_last", self.keep_last, least=0)

    def due(self, tokens: Sequence[int], capacity: int) -> int:
        """See ``Policy``."""
        over = sum(tokens) > self.limit
        return max(0, len(tokens) - self.keep_last) if over else 0


@dataclass(frozen=True)
class FrontHalf:
    """The front ``fraction`` once more than ``max_entries`` are held."""

    max_entries: int = 20
    fraction: float = 0.5

    def __post_init__(self) -> None:
        checked_int("max_entries", self.max_entries)
        if checked_number("fraction", self.fraction, above=True) > 1:
            raise ValueError(
                f"fraction must be above 0 and at most 1, got {self.fraction}"
            )

    def due(self, tokens: Sequence[int], capacity: int) -> int:
        """See ``Policy``."""
        over = len(tokens) > self.max_entries
        return ceil(len(tokens) * self.fraction) if over else 0


def check(policy: Policy) -> Policy:
    """The argument as given.

    Raises:
        ValueError: if its ``due`` method is missing.
    """
    if isinstance(policy, type) or not callable(getattr(policy, "due", None)):
        raise ValueError(
            "consolidation must be EveryBatch(size), OverTokens(limit, keep_last), "
            "FrontHalf(max_entries, fraction) or an object with a method "
            f"due(tokens, capacity), got {policy!r}"
        )
    return policy


class Consolidation:
    """Makes entries due by a policy, or when the section lacks room for them.

    Attributes:
        capacity: how many entries the window is meant to keep.
        size: number of steps at a time by the default policy; None drops the oldest.
        policy: in place of ``EveryBatch(size)``.
    """

    def __init__(self, capacity: int, size: int | None, policy: Policy | None) -> None:
        self.capacity, self.size, self.policy = capacity, size, policy

    def __call__(self, view: StepView, window: Window) -> int:
        """The number of oldest entries that are due."""
        policy = self.policy or (_every_batch(self.size) if self.size else None)
        if policy is None:
            window.keep(view, max(0, self.capacity))
            return 0
        return policy.due(window.sizes(view), self.capacity) or unseen(view, window)


@cache
def _every_batch(size: int) -> EveryBatch:
    return EveryBatch(size)


def unseen(view: StepView, window: Window) -> int:
    """The number of oldest entries that the next step will push out of the section.

    That step is taken to be as long as the newest one.
    """
    held, limit, chars = window.held, view.limits.section_chars, window.lengths(view)
    half = limit // 2
    if held and chars[-1] > half:
        window.split(view, held[-1], -half)
        chars = window.lengths(view)
    room = limit - min(half, chars[-1] if chars else 0)
    used = 0
    for count in range(len(chars), 0, -1):
        used += chars[count - 1]
        if used > room and count < len(chars):
            return count
    return 0
