"""Usage of language models, budgets, and use of single calls.

An unknown cost is None, never zero: a sum with an unknown part is unknown.
"""

from dataclasses import dataclass, fields
from typing import Any

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.render import count_tokens
from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import LLMRequest
from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.llm.cost.price import FREE, Price

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
        sums: Any = [None if None in pair else sum(pair) for pair in both]
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


@dataclass(frozen=True, eq=False)
class Reservation:
    """The usage reserved for a call that is under way.

    Attributes:
        forecast: the least that it uses, as far as that can be counted beforehand.
        beyond: the most that it may use besides.
    """

    forecast: Usage
    beyond: Usage


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


def open_reply(price: Price | None, max_tokens: int | None, tier: str = "") -> Usage:
    """The most that a reply without a limit may use; nothing if it has one."""
    tokens = 0 if max_tokens else MAX_REPLY_TOKENS
    return Usage(completion_tokens=tokens, cost=_highest_cost(price, 0, tokens, tier))


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
