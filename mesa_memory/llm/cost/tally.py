"""Sums of usage that are counted up in their place: a ledger has several for each call."""

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mesa_memory.llm.cost.ledger import Usage


class Tally:
    """A ``Usage`` that grows, with the same names; who changes it holds a lock."""

    __slots__ = (
        *("calls", "attempts", "prompt_tokens", "completion_tokens", "cost"),
        *("latency", "failures", "cached_tokens", "kept", "failed_attempts"),
    )

    def __init__(self) -> None:
        self.calls = self.attempts = self.prompt_tokens = self.completion_tokens = 0
        self.cost: float | None = 0.0
        self.latency = 0.0
        self.failures = self.cached_tokens = self.kept = self.failed_attempts = 0

    def add(self, used: "Usage | Tally") -> Self:
        """Counts it, too; an unknown cost makes the sum's unknown."""
        self.calls += used.calls
        self.attempts += used.attempts
        self.prompt_tokens += used.prompt_tokens
        self.completion_tokens += used.completion_tokens
        if self.cost is not None:
            self.cost = None if used.cost is None else self.cost + used.cost
        self.latency += used.latency
        self.failures += used.failures
        self.cached_tokens += used.cached_tokens
        self.kept += used.kept
        self.failed_attempts += used.failed_attempts
        return self

    @property
    def values(self) -> tuple[Any, ...]:
        """What was counted, in the order of a ``Usage``."""
        return (
            *(self.calls, self.attempts, self.prompt_tokens, self.completion_tokens),
            *(self.cost, self.latency, self.failures, self.cached_tokens, self.kept),
            self.failed_attempts,
        )


class Held:
    """What is set aside for the calls under way, as far as a budget limits it.

    Attributes:
        calls, tokens, cost: as they were forecast; an unknown cost makes the sum's
            unknown.
        tokens_beyond, cost_beyond: what they may use besides.
    """

    __slots__ = ("calls", "cost", "cost_beyond", "tokens", "tokens_beyond")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Exactly nothing, an unknown cost included."""
        self.calls = self.tokens = self.tokens_beyond = 0
        self.cost: float | None = 0.0
        self.cost_beyond = 0.0

    def hold(self, forecast: "Usage", beyond: "Usage") -> None:
        """Sets a call's forecast aside, and what it may use beyond it."""
        self.calls += forecast.calls
        self.tokens += forecast.prompt_tokens + forecast.completion_tokens
        if self.cost is not None:
            self.cost = None if forecast.cost is None else self.cost + forecast.cost
        self.tokens_beyond += beyond.prompt_tokens + beyond.completion_tokens
        self.cost_beyond += beyond.cost or 0.0

    def let_go(self, forecast: "Usage", beyond: "Usage") -> None:
        """Takes back what was set aside for a call."""
        self.calls -= forecast.calls
        if not self.calls:
            self.clear()
            return
        self.tokens -= forecast.prompt_tokens + forecast.completion_tokens
        if self.cost is not None:
            self.cost -= forecast.cost or 0.0
        self.tokens_beyond -= beyond.prompt_tokens + beyond.completion_tokens
        self.cost_beyond -= beyond.cost or 0.0

    def after(self, used: Tally, forecast: "Usage") -> dict[str, Any]:
        """By a budget's names, what one more call would make of all that was used."""
        costs = (used.cost, self.cost, forecast.cost)
        known = [cost for cost in costs if cost is not None]
        tokens = used.prompt_tokens + used.completion_tokens + self.tokens
        return {
            "calls": used.calls + self.calls + forecast.calls,
            "tokens": tokens + forecast.prompt_tokens + forecast.completion_tokens,
            "cost": sum(known) if len(known) == len(costs) else None,
        }

    def beyond(self, after: dict[str, Any]) -> dict[str, Any]:
        """``after``, with what the calls under way may use besides."""
        cost, tokens = after["cost"], after["tokens"] + self.tokens_beyond
        cost = None if cost is None else cost + self.cost_beyond
        return {**after, "tokens": tokens, "cost": cost}
