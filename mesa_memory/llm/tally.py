"""Sums of usage that are counted up in their place: a ledger has several for each call."""

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mesa_memory.llm.ledger import Usage


class Tally:
    """A ``Usage`` that grows, with the same names; who changes it holds a lock."""

    __slots__ = (
        *("calls", "attempts", "prompt_tokens", "completion_tokens", "cost"),
        *("latency", "failures", "cached_tokens", "kept"),
    )

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Nothing is counted yet."""
        self.calls = self.attempts = self.prompt_tokens = self.completion_tokens = 0
        self.cost: float | None = 0.0
        self.latency = 0.0
        self.failures = self.cached_tokens = self.kept = 0

    def add(self, used: "Usage | Tally") -> Self:
        """Counts it, too; an unknown cost makes the sum's unknown."""
        self.calls += used.calls
        self.attempts += used.attempts
        self.prompt_tokens += used.prompt_tokens
        self.completion_tokens += used.completion_tokens
        if self.cost is not None:
            self.cost = None if used.cost is None else self.cost + used.cost
        self.latency += used.latency
        if used.failures or used.cached_tokens or used.kept:  # most have none
            self.failures += used.failures
            self.cached_tokens += used.cached_tokens
            self.kept += used.kept
        return self

    def take(self, part: "Usage") -> None:
        """Takes back what was added of a call that was expected."""
        self.calls -= part.calls
        self.attempts -= part.attempts
        self.prompt_tokens -= part.prompt_tokens
        self.completion_tokens -= part.completion_tokens
        if self.cost is not None:
            self.cost -= part.cost or 0.0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def values(self) -> tuple[Any, ...]:
        """What was counted, in the order of a ``Usage``."""
        return (
            *(self.calls, self.attempts, self.prompt_tokens, self.completion_tokens),
            *(self.cost, self.latency, self.failures, self.cached_tokens, self.kept),
        )
