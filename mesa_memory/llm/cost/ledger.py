"""What the language model cost: calls, attempts, tokens, money, time, and budgets.

A cost is None when it is unknown, never zero: a sum with an unknown part is unknown.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, fields, replace
from typing import Any

from mesa_memory.core.limits import crossed
from mesa_memory.core.render import count_tokens
from mesa_memory.core.requests import LLMRequest, Reply, Route
from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.errors import BudgetExceeded
from mesa_memory.llm.cost.account import Account, soon, wake
from mesa_memory.llm.cost.price import FREE, Price
from mesa_memory.llm.cost.tally import Held, Tally

#: what usage can be grouped by
KEYS = ("purpose", "model", "agent", "step")
#: number of newest steps that are counted one by one
STEPS = 100
#: tokens that a reply may have, as long as neither a limit nor longer ones are known
REPLY_TOKENS = 4096


@dataclass(frozen=True)
class Usage:
    """Sums over calls.

    Attributes:
        calls: requests that were answered or failed for good.
        attempts: HTTP requests sent for them.
        prompt_tokens, completion_tokens: as the provider counted; where it says nothing
            or 0, estimated at four characters to a token.
        cost: US dollars, or None if any call's price is unknown.
        latency: seconds, summed over calls.
        failures: calls that failed for good.
        cached_tokens: prompt tokens that providers read from their caches, as far as
            they say.
        kept: calls that were answered from kept answers: they use no tokens and cost
            nothing.
        failed_attempts: HTTP requests among ``attempts`` that got no usable answer.
    """

    calls: int = 0
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    latency: float = 0.0
    failures: int = 0
    cached_tokens: int = 0
    kept: int = 0
    failed_attempts: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """The sum; an unknown cost makes it unknown."""
        unknown = self.cost is None or other.cost is None
        return Usage(
            self.calls + other.calls,
            self.attempts + other.attempts,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            None if unknown else self.cost + other.cost,  # type: ignore[operator]
            self.latency + other.latency,
            self.failures + other.failures,
            self.cached_tokens + other.cached_tokens,
            self.kept + other.kept,
            self.failed_attempts + other.failed_attempts,
        )


@dataclass(frozen=True)
class Budget:
    """Limits for one model run; None is unlimited.

    How long a reply gets is known beforehand only if ``max_tokens`` is set; without
    it, the last reply may go over the limit of tokens or cost. Never more than one
    does: near the limit, requests wait for each other.

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
                check = checked_number if item.name == "cost" else checked_int
                check(item.name, value, 0)


type _Usages = defaultdict[tuple, Tally]

UNLIMITED = Budget()
NOTHING, ONE = Usage(), Usage(calls=1, attempts=1)


@dataclass
class Reservation:
    """What is set aside for a call that is under way.

    Attributes:
        forecast: what it will use at least, as far as that can be counted beforehand.
        beyond: what it may use besides.
        expected: what it is expected to use, see ``Forecaster``.
    """

    forecast: Usage
    beyond: Usage
    expected: Usage = NOTHING


class Ledger:
    """Counts every call of one model run, and stops before the budget is crossed."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or UNLIMITED
        #: a budget that is shared with other runs; None if there is no such budget
        self.account: Account | None = None
        self._routes: dict[str, tuple[str, str, tuple[str, ...]]] = {}
        self._lock = threading.Lock()
        self._usage: _Usages = defaultdict(Tally)  # by purpose, model and agent
        self._older: _Usages = defaultdict(Tally)  # of it, before the newest steps
        self._steps: dict[float, _Usages] = {}  # and in each of those
        self._total, self._expected = Tally(), Tally()
        self._held = Held()  # what is set aside for calls under way
        self._excess = NOTHING  # the most that a call has used beyond its forecast
        self._larger = (NOTHING, NOTHING, NOTHING)  # two of which it is the larger one
        self._waiting: list[Future] = []  # requests that want to know of an end
        self._before: dict[str, Usage] = {}  # by purpose, until the run was resumed

    def forked(self) -> None:
        """In a child process: the calls that the parent is making are not made here."""
        self._lock = threading.Lock()
        self._held = Held()
        self._waiting = []

    @property
    def routes(self) -> dict[str, Route]:
        """By model, how its last answered request went to it, in order of first use."""
        return {model: Route(*went) for model, went in self._routes.items()}

    def went(self, model: str, reply: Reply) -> None:
        """Notes how an answered request went to its model, if that is a provider's."""
        if reply.client:
            self._routes[model] = (reply.client, reply.form, reply.without)

    @property
    def total(self) -> Usage:
        """The sum over all calls."""
        with self._lock:
            return Usage(*self._total.values)

    @property
    def forecast(self) -> Usage:
        """What all answered calls were expected to use, each before it was sent."""
        with self._lock:
            return Usage(*self._expected.values)

    def of_run(self) -> dict[str, Usage]:
        """Usage by purpose since the run began, also before it was resumed, in order.

        The budget, ``total`` and ``by`` are of this process alone. Seconds and attempts
        from before are not known here; the run's record has them.
        """
        found = dict(self._before)
        for (purpose,), used in self.by("purpose").items():
            found[purpose] = found.get(purpose, Usage()) + used
        return found

    def go_on(self, before: Mapping[str, Usage]) -> None:
        """Takes up what a run had used, by purpose, when it was left off."""
        self._before = dict(before)

    def by(self, *keys: str) -> dict[tuple, Usage]:
        """Usage grouped by some of purpose, model, agent and step, in order of use.

        The newest 100 steps are told apart; the step of all that was used before is
        None.

        Raises:
            ValueError: for another key.
        """
        unknown = [key for key in keys if key not in KEYS]
        if unknown:
            raise ValueError(f"usage is kept by {KEYS}, not by {unknown}")
        positions = [KEYS.index(key) for key in keys]
        grouped: _Usages = defaultdict(Tally)
        with self._lock:
            usage = self._by_step() if "step" in keys else self._usage.items()
            for full, used in usage:
                key = tuple(full[position] for position in positions)
                grouped[key].add(used)
        return {key: Usage(*found.values) for key, found in grouped.items()}

    def reserve(
        self, request: LLMRequest, forecast: Usage, reply: Usage | None = None
    ) -> "Reservation | Future[None]":
        """Sets a call's forecast aside before it is sent.

        Args:
            reply: what the reply may use beyond the forecast, if that is not known.

        Returns:
            What is set aside; or, where calls under way may use up what is left, a
            future that is done when one of them has ended: then ask again.

        Raises:
            BudgetExceeded: if it would cross the budget; nothing is set aside.
        """
        with self._lock:
            if self.budget is not UNLIMITED and self.budget != UNLIMITED:
                limits, held = vars(self.budget), self._held
                after = held.after(self._total, forecast)
                if over := crossed(after, limits):
                    raise _exceeded(request, over)
                if held.calls and crossed(held.beyond(after), limits):
                    ended: Future[None] = Future()
                    self._waiting.append(ended)
                    return ended
            beyond = self._most_beyond(reply or NOTHING)
            if self.account is not None:
                shared = self.account.reserve(forecast, beyond)
                if shared is None:
                    return soon()
                if shared:
                    raise _exceeded(request, shared, "study.run(budget=…)")
            self._held.hold(forecast, beyond)
            return Reservation(forecast, beyond)

    def settle(
        self, request: LLMRequest, model: str, reserved: Reservation, used: Usage
    ) -> None:
        """Replaces what was set aside for a call by what it used of ``model``."""
        key, step = (request.purpose, model, request.agent), request.step
        with self._lock:
            self._held.let_go(reserved.forecast, reserved.beyond)
            self._excess = _most(self._excess, used, reserved.forecast)
            self._usage[key].add(used)
            newest = self._steps.get(step)
            if newest is None:
                newest = self._steps[step] = defaultdict(Tally)
            newest[key].add(used)
            if len(self._steps) > STEPS:
                for old, part in self._steps.pop(min(self._steps)).items():
                    self._older[old].add(part)
            self._total.add(used)
            if not used.failures:
                self._expected.add(reserved.expected)
            if waiting := self._waiting:
                self._waiting = []
            if self.account is not None:
                self.account.settle(reserved.forecast, reserved.beyond, used)
        for ended in waiting:
            wake(ended)

    def _by_step(self) -> list[tuple[tuple, Tally]]:
        steps = [(None, self._older), *self._steps.items()]
        return [((*k, step), used) for step, part in steps for k, used in part.items()]

    def _most_beyond(self, reply: Usage) -> Usage:
        """What a call may use beyond its forecast: as much as its reply, or another."""
        excess, before, most = self._larger
        if excess is not self._excess or before is not reply:
            most = _most(self._excess, reply, NOTHING)
            self._larger = (self._excess, reply, most)
        return most


def _exceeded(
    request: LLMRequest, crossed: str, how: str = "configure(model, budget=Budget(…))"
) -> BudgetExceeded:
    return BudgetExceeded(
        f"this call would cross the budget: {crossed}. Nothing was sent; raise the "
        f"limit with {how}.",
        purpose=request.purpose,
        agent=request.agent,
        step=request.step,
    )


def price_of(client: Any, model: str | None) -> Price | None:
    """What a model's tokens cost, as the client that asks it says; None if unknown.

    Raises:
        ValueError: if the client gives what is no price.
    """
    if getattr(client, "instant", False):
        return FREE
    return Price.of(client.price(model)) if hasattr(client, "price") else None


def forecast(
    request: LLMRequest, price: Price | None, max_tokens: int | None, tier: str = ""
) -> Usage:
    """What a request will use at most, as far as it is known before it is sent.

    Nothing is taken to be cached; what is to be written to a cache costs more.

    Args:
        price: of the model; None unknown.
        max_tokens: limit of the reply; None counts the reply as nothing.
        tier: the service tier that is asked for; empty for none.
    """
    prompt, reply = request.tokens, max_tokens or 0
    cost = None if price is None else _cost(price, prompt, reply, tier)
    return replace(ONE, prompt_tokens=prompt, completion_tokens=reply, cost=cost)


def open_reply(price: Price | None, max_tokens: int | None, tier: str = "") -> Usage:
    """What a reply may use that has no limit; nothing if it has one."""
    tokens = 0 if max_tokens else REPLY_TOKENS
    return Usage(completion_tokens=tokens, cost=_cost(price, 0, tokens, tier))


def usage_of(request: LLMRequest, reply: Reply, price: Price | None = None) -> Usage:
    """What an answered request used; counted here where the provider does not say.

    Args:
        price: of the model, for a reply without a cost; None unknown.
    """
    if reply.kept:
        return Usage(1, 0, kept=1)
    # No prompt is empty: a provider that says 0 has not counted.
    prompt = reply.prompt_tokens or request.tokens
    completion = reply.completion_tokens or count_tokens(_said(reply))
    cached, cost = reply.cached_tokens or 0, reply.cost
    if cost is None and price is not None:
        cost = price.cost(prompt, completion, cached, reply.tier)
    return replace(
        ONE,
        attempts=reply.attempts,
        failed_attempts=len(reply.failed),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost,
        latency=reply.latency,
        cached_tokens=cached,
    )


def failure_usage(error: BaseException | None) -> Usage:
    """What a failed request used: providers do not charge for it."""
    failed = getattr(error, "failed", None)
    if failed is None:  # a client that does not report its attempts
        return Usage(1, 1, failures=1)
    return Usage(1, len(failed), failures=1, failed_attempts=len(failed))


def _said(reply: Reply) -> str:
    """A reply's text, and the tools that it calls."""
    if reply.raw is None:
        return reply.text or ""
    choices = getattr(reply.raw, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    calls = getattr(message, "tool_calls", None) or ()
    called = [str(getattr(call, "function", call)) for call in calls]
    return "".join([reply.text or "", *called])


def _cost(price: Price | None, prompt: int, reply: int, tier: str) -> float | None:
    """The most that tokens may cost, so nothing is taken to be cached."""
    if price is None:
        return None
    own = price.in_tier(tier) if tier else price
    return prompt * max(own.prompt, own.written or 0.0) + reply * own.reply


def _most(known: Usage, used: Usage, forecast: Usage) -> Usage:
    """The larger numbers of tokens and cost: ``known``, or what was used but forecast.

    An unknown cost counts as nothing.
    """
    prompt = used.prompt_tokens - forecast.prompt_tokens
    completion = used.completion_tokens - forecast.completion_tokens
    cost = 0.0 if used.cost is None else used.cost - (forecast.cost or 0.0)
    before = known.cost or 0.0
    no_more = prompt <= known.prompt_tokens and completion <= known.completion_tokens
    if no_more and cost <= before:
        return known
    return Usage(
        prompt_tokens=max(known.prompt_tokens, prompt),
        completion_tokens=max(known.completion_tokens, completion),
        cost=max(before, cost),
    )
