"""What the language model cost: calls, attempts, tokens, money, time, and budgets.

A cost is None when it is unknown, never zero: a sum with an unknown part is unknown.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from mesa_memory.checks import number, whole
from mesa_memory.effects import LLMRequest, Reply
from mesa_memory.errors import BudgetExceeded
from mesa_memory.render import count_tokens

#: what usage can be grouped by
KEYS = ("purpose", "model", "agent", "step")


@dataclass(frozen=True)
class Usage:
    """Sums over calls.

    Attributes:
        calls: requests that were answered or failed for good.
        attempts: HTTP requests sent for them.
        prompt_tokens, completion_tokens: as the provider counted, else estimated at
            four characters to a token.
        cost: US dollars, or None if any call's price is unknown.
        latency: seconds, summed over calls.
        failures: calls that failed for good.
    """

    calls: int = 0
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    latency: float = 0.0
    failures: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """The sum; an unknown cost makes it unknown."""
        summed: dict[str, Any] = {}
        for item in fields(Usage):
            mine, theirs = getattr(self, item.name), getattr(other, item.name)
            unknown = mine is None or theirs is None
            summed[item.name] = None if unknown else mine + theirs
        return Usage(**summed)


@dataclass(frozen=True)
class Budget:
    """Limits for one model run; None is unlimited.

    How long a reply gets is known beforehand only if ``max_tokens`` is set; without
    it, the last reply may go over the limit of tokens or cost.

    Attributes:
        calls: number of calls.
        tokens: tokens in and out.
        cost: US dollars; needs a model whose price is known.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None:
                (number if item.name == "cost" else whole)(item.name, value, 0)


class Ledger:
    """Counts every call of one model run, and stops before the budget is crossed."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._lock = threading.Lock()
        self._usage: dict[tuple, Usage] = {}
        self._total = Usage()
        self._reserved = Usage()  # calls under way, as they were forecast

    @property
    def total(self) -> Usage:
        """The sum over all calls."""
        return self._total

    def by(self, *keys: str) -> dict[tuple, Usage]:
        """Usage grouped by some of purpose, model, agent and step, in order of use.

        Raises:
            ValueError: for another key.
        """
        unknown = [key for key in keys if key not in KEYS]
        if unknown:
            raise ValueError(f"usage is kept by {KEYS}, not by {unknown}")
        positions = [KEYS.index(key) for key in keys]
        grouped: dict[tuple, Usage] = {}
        with self._lock:
            usage = list(self._usage.items())
        for full, used in usage:
            key = tuple(full[position] for position in positions)
            grouped[key] = grouped.get(key, Usage()) + used
        return grouped

    def reserve(self, request: LLMRequest, forecast: Usage) -> None:
        """Sets a call's forecast aside before it is sent.

        Raises:
            BudgetExceeded: if it would cross the budget; nothing is set aside.
        """
        with self._lock:
            after = self._total + self._reserved + forecast
            crossed = self._crossed(after)
            if crossed:
                raise BudgetExceeded(
                    f"this call would cross the budget: {crossed}. Nothing was sent; "
                    "raise the limit with configure(model, budget=Budget(…)).",
                    purpose=request.purpose,
                    agent=request.agent,
                    step=request.step,
                )
            self._reserved = self._reserved + forecast

    def settle(
        self, request: LLMRequest, model: str, forecast: Usage, used: Usage
    ) -> None:
        """Replaces a call's forecast by what it used of ``model``."""
        key = (request.purpose, model, request.agent, request.step)
        with self._lock:
            self._reserved = _minus(self._reserved, forecast)
            self._usage[key] = self._usage.get(key, Usage()) + used
            self._total = self._total + used

    def _crossed(self, after: Usage) -> str:
        for item in fields(Budget):
            limit = getattr(self.budget, item.name)
            value: Any = getattr(after, item.name)
            if limit is None:
                continue
            if value is None:
                return f"the price of a call is unknown, but {item.name}={limit}"
            if value > limit:
                return f"{item.name} {value:g} of {limit:g}"
        return ""


def forecast(
    request: LLMRequest, price: Sequence[float] | None, max_tokens: int | None
) -> Usage:
    """What a request will use at most, as far as it is known before it is sent.

    Args:
        price: US dollars per prompt token and per completion token; None unknown.
        max_tokens: limit of the reply; None counts the reply as nothing.
    """
    prompt = sum(count_tokens(m["content"] or "") for m in request.messages())
    reply = max_tokens or 0
    cost = None if price is None else prompt * price[0] + reply * price[1]
    return Usage(1, 1, prompt, reply, cost)


def usage_of(request: LLMRequest, reply: Reply) -> Usage:
    """What an answered request used."""
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    if prompt is None:
        prompt = sum(count_tokens(m["content"] or "") for m in request.messages())
    if completion is None:
        completion = count_tokens(reply.text or "")
    return Usage(1, reply.attempts, prompt, completion, reply.cost, reply.latency)


def _minus(total: Usage, part: Usage) -> Usage:
    """``total`` without ``part``; nothing left is exactly zero, cost included."""
    calls = total.calls - part.calls
    if not calls:
        return Usage()
    cost = None if total.cost is None else total.cost - (part.cost or 0.0)
    return Usage(
        calls,
        total.attempts - part.attempts,
        total.prompt_tokens - part.prompt_tokens,
        total.completion_tokens - part.completion_tokens,
        cost,
    )
