"""The ledger of a model run: counts every call and stops before the budget is crossed.

An unknown cost is None, never zero: a sum with an unknown part is unknown.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.render import count_tokens
from mesa_memory.core.requests import LLMRequest, Reply, Route
from mesa_memory.core.text.replies import Refusal
from mesa_memory.core.validate import checked_int, checked_number, exceeded_limit
from mesa_memory.errors import BudgetExceeded
from mesa_memory.llm.prices import FREE, Price

#: tokens that a reply without a limit may have, until a longer one is known
MAX_REPLY_TOKENS = 4096


@dataclass(frozen=True)
class Usage(NotebookShown):
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
        cached: calls that were answered from the cache of responses: they use no tokens
            and cost nothing.
        failed_attempts: HTTP requests among ``attempts`` that got no usable answer.
        doubtful: replies that were used, or asked for again, in doubt.
        given_up: replies that could not be used and were not asked for again.
    """

    calls: int = 0
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    latency: float = 0.0
    failures: int = 0
    cached_tokens: int = 0
    cached: int = 0
    failed_attempts: int = 0
    doubtful: int = 0
    given_up: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """The sum; an unknown cost makes it unknown."""
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        sums: Any = [None if None in (a, b) else a + b for a, b in both]
        return Usage(*sums)


NOTHING = Usage()


@dataclass(frozen=True)
class Budget(NotebookShown):
    """Limits for one model run; None is unlimited.

    The length of a reply is known beforehand only if ``max_tokens`` is set. Without it
    the last reply may exceed the limit of tokens or cost. At most one reply does: near
    the limit, requests wait for each other.

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


class Reservation:
    """The usage reserved for a call that is under way; worked out if a budget asks.

    Args:
        price, max_tokens, tier: see ``forecast``.

    Attributes:
        beyond: the most that it may use besides its forecast.
    """

    beyond = NOTHING

    def __init__(
        self,
        request: LLMRequest,
        price: Price | None,
        max_tokens: int | None = None,
        tier: str = "",
    ) -> None:
        self.request, self._terms = request, (price, max_tokens, tier)

    @cached_property
    def forecast(self) -> Usage:
        """The least that it uses, as far as that can be counted beforehand."""
        return forecast(self.request, *self._terms)

    @cached_property
    def reply(self) -> Usage:
        """The most that a reply without a limit may use; nothing if it has one."""
        price, limit, tier = self._terms
        tokens = 0 if limit else MAX_REPLY_TOKENS
        cost = _highest_cost(price, 0, tokens, tier)
        return Usage(completion_tokens=tokens, cost=cost)


def price_of(client: Any, model: str | None) -> Price | None:
    """The price of a model's tokens, as its client reports it; None if unknown.

    Raises:
        ValueError: if the client reports an invalid price.
    """
    if hasattr(client, "price"):
        return Price.of(client.price(model))
    return FREE if getattr(client, "instant", False) else None


def forecast(
    request: LLMRequest, price: Price | None, max_tokens: int | None, tier: str = ""
) -> Usage:
    """The most that a request uses, as far as it is known before it is sent.

    No token is taken to be cached; tokens written to a cache cost more.

    Args:
        price: of the model; None unknown.
        max_tokens: limit of the reply; None counts the reply as nothing.
        tier: the requested service tier; empty for none.
    """
    prompt, reply = request.tokens, max_tokens or 0
    cost = None if price is None else _highest_cost(price, prompt, reply, tier)
    return Usage(1, 1, prompt, reply, cost)


def usage_of(request: LLMRequest, reply: Reply, price: Price | None = None) -> Usage:
    """The usage of an answered request; counted here if the provider does not say.

    Args:
        price: of the model, for a reply without a cost; None unknown.
    """
    if reply.cached:
        return Usage(1, 0, cached=1)
    # No prompt is empty: a provider that says 0 has not counted.
    prompt = reply.prompt_tokens or request.tokens
    completion = reply.completion_tokens or count_tokens(_text_and_calls(reply))
    cached, cost = reply.cached_tokens or 0, reply.cost
    if cost is None and price is not None:
        cost = price.cost(prompt, completion, cached, reply.tier)
    return Usage(
        *(1, reply.attempts, prompt, completion, cost, reply.latency),
        cached_tokens=cached,
        failed_attempts=len(reply.failed),
    )


def failure_usage(error: BaseException | None) -> Usage:
    """The usage of a failed request: providers do not charge for it."""
    failed = getattr(error, "failed", None)
    if failed is None:  # a client that does not report its attempts
        return Usage(1, 1, failures=1)
    return Usage(1, len(failed), failures=1, failed_attempts=len(failed))


def largest(known: Usage, used: Usage, forecast: Usage) -> Usage:
    """The larger tokens and cost: ``known``, or the part of ``used`` beyond a forecast.

    An unknown cost counts as nothing.
    """
    cost = 0.0 if used.cost is None else used.cost - (forecast.cost or 0.0)
    return Usage(
        prompt_tokens=max(
            known.prompt_tokens, used.prompt_tokens - forecast.prompt_tokens
        ),
        completion_tokens=max(
            known.completion_tokens, used.completion_tokens - forecast.completion_tokens
        ),
        cost=max(known.cost or 0.0, cost),
    )


def _text_and_calls(reply: Reply) -> str:
    """A reply's text, and the tools that it calls."""
    choices = getattr(reply.raw, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    calls = getattr(message, "tool_calls", None) or ()
    called = [str(getattr(call, "function", call)) for call in calls]
    return "".join([reply.text or "", *called])


def _highest_cost(
    price: Price | None, prompt: int, reply: int, tier: str
) -> float | None:
    if price is None:
        return None
    own = price.in_tier(tier) if tier else price
    return prompt * max(own.prompt, own.written or 0.0) + reply * own.reply


#: keys by which usage can be grouped
GROUP_KEYS = ("purpose", "model", "agent")
UNLIMITED = Budget()
#: seconds after which a budget that other runs have used up for now is asked again
ASK_AGAIN_S = 0.05

type _Sums = defaultdict[tuple, Usage]


class Account(Protocol):
    """A budget that a run shares with others, wherever they are made."""

    def reserve(self, forecast: Usage, beyond: Usage) -> str | None:
        """Sets a call aside; see ``Ledger.reserve``.

        Returns:
            ``""`` if it may be sent; what it would cross; None: ask again soon.
        """

    def settle(self, forecast: Usage, beyond: Usage, used: Usage) -> None:
        """Replaces a reservation by the actual use."""


class Ledger:
    """Counts every call of one model run, and stops before the budget is crossed."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or UNLIMITED
        #: a budget that other runs use, too; None if the run has its own only
        self.account: Account | None = None
        self._routes: dict[str, Route] = {}
        self._usage = _sums()  # by purpose, model and agent
        self._total: Usage | None = None  # summed up once a budget asks
        # A task reads a reply, and fills in its verdict, after the call was counted.
        self._verdicts: dict[tuple, list[Refusal]] = defaultdict(list)
        self._excess = NOTHING  # the most that a call has used beyond its forecast
        self._lock = threading.Lock()
        self._open: dict[Reservation, None] = {}
        self._waiting: list[Future] = []  # requests that wait for the end of a call

    @property
    def routes(self) -> dict[str, Route]:
        """By model, the route of its last answered request, in order of first use."""
        return dict(self._routes)

    def record_route(self, model: str, reply: Reply) -> None:
        """Notes the route of an answered request, if a provider answered it."""
        if reply.route:
            self._routes[model] = reply.route

    @property
    def total(self) -> Usage:
        """The sum over all calls since the run began, also before it was resumed."""
        return sum(self.by().values(), NOTHING)

    def go_on(self, before: Mapping[tuple[str, str], Usage]) -> None:
        """Counts what a run has used, by purpose and model, before it was resumed."""
        with self._lock:
            for (purpose, model), used in before.items():
                self._add((purpose, model, None), used)

    def by(self, *keys: str) -> dict[tuple, Usage]:
        """Usage since the run began, grouped by some of purpose, model and agent.

        It stands in order of use. Of calls before a run was resumed, the agent is None,
        and seconds and attempts are not counted; the run's record has them.

        Raises:
            ValueError: for another key.
        """
        unknown = [key for key in keys if key not in GROUP_KEYS]
        if unknown:
            raise ValueError(f"usage can be grouped by {GROUP_KEYS}, got {unknown}")
        positions = [GROUP_KEYS.index(key) for key in keys]
        grouped = _sums()
        with self._lock:
            for full, used in self._usage.items():
                key = tuple(full[position] for position in positions)
                grouped[key] += used
                verdicts = self._verdicts.get(full, ())
                doubtful = len([each for each in verdicts if each.doubt])
                given_up = len([each for each in verdicts if each.reason])
                if doubtful or given_up:
                    grouped[key] += Usage(doubtful=doubtful, given_up=given_up)
        return dict(grouped)

    def reserve(self, call: Reservation) -> "Future[None] | None":
        """Reserves a call's forecast before it is sent.

        Returns:
            None if it may be sent; where calls under way may use up the rest of the
            budget, a future that is done when one of them has ended: then ask again.

        Raises:
            BudgetExceeded: if it would cross the budget; nothing is reserved.
        """
        with self._lock:
            if self.budget != UNLIMITED:
                if self._total is None:
                    self._total = sum(self._usage.values(), NOTHING)
                limits, used = vars(self.budget), self._total + call.forecast
                for open_call in self._open:
                    used += open_call.forecast
                if over := exceeded_limit(_by_limit(used), limits):
                    raise _exceeded(call.request, over)
                for open_call in self._open:
                    used += open_call.beyond
                if self._open and exceeded_limit(_by_limit(used), limits):
                    ended: Future[None] = Future()
                    self._waiting.append(ended)
                    return ended
            if self._is_limited:
                call.beyond = largest(self._excess, call.reply, NOTHING)
            if self.account is not None:
                shared = self.account.reserve(call.forecast, call.beyond)
                if shared is None:
                    return soon()
                if shared:
                    raise _exceeded(call.request, shared, "study.run(budget=…)")
            self._open[call] = None
            return None

    @property
    def _is_limited(self) -> bool:
        return self.budget != UNLIMITED or self.account is not None

    def settle(self, call: Reservation, model: str, used: Usage) -> None:
        """Replaces the reservation of a call by its usage of ``model``."""
        with self._lock:
            del self._open[call]
            if self._is_limited:
                self._excess = largest(self._excess, used, call.forecast)
            self._count(call.request, model, used)
            waiting, self._waiting = self._waiting, []
            if self.account is not None:
                self.account.settle(call.forecast, call.beyond, used)
        for ended in waiting:
            wake(ended)

    def count(self, request: LLMRequest, model: str, used: Usage) -> None:
        """Counts a call without a reservation, such as one answered from the cache."""
        with self._lock:
            self._count(request, model, used)

    def _count(self, request: LLMRequest, model: str, used: Usage) -> None:
        key = request.purpose, model, request.agent
        self._add(key, used)
        if request.refusal is not None:
            self._verdicts[key].append(request.refusal)

    def _add(self, key: tuple, used: Usage) -> None:
        self._usage[key] += used
        if self._total is not None:
            self._total += used


def soon() -> Future[None]:
    """A future that is done after a moment: others may have ended a call by then."""
    later: Future[None] = Future()
    timer = threading.Timer(ASK_AGAIN_S, wake, [later])
    timer.daemon = True
    timer.start()
    return later


def wake(waiting: Future[None]) -> None:
    """Ends the waiting, unless it was cancelled."""
    if waiting.set_running_or_notify_cancel():
        waiting.set_result(None)


def _sums() -> _Sums:
    return defaultdict(lambda: NOTHING)


def _by_limit(used: Usage) -> dict[str, Any]:
    """Usage by the names of a budget."""
    return {"calls": used.calls, "tokens": used.tokens, "cost": used.cost}


def _exceeded(
    request: LLMRequest, crossed: str, how: str = "configure(model, budget=Budget(…))"
) -> BudgetExceeded:
    return BudgetExceeded(
        f"this call would cross the budget: {crossed}. Nothing was sent; raise the "
        f"limit with {how}.",
        **request.where,
    )
