"""How near concurrency that finds its level comes to the best fixed one.

    python -m benchmarks.limits [--requests 1500] [--only burst …] [--json]

Three providers are simulated, each with its own limit, and as many requests wait as a
town asks in a step. Time is simulated, too: a run takes as long as its computing, and
gives the same figures each time. Fixed concurrency is searched over a grid; its requests
are sent again as often as it takes. The share is that of the best fixed one's answers a
second; *lost*, *refusals* and *twice* (refused twice in a row) count requests.
"""

import asyncio
import random
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.tables import options, show
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.errors import LLMError
from mesa_memory.llm.base import Attempt, LLMSettings
from mesa_memory.llm.client import ProviderClient
from mesa_memory.llm.errors import StateError
from mesa_memory.llm.limits import ConcurrencyLimiter

#: fixed numbers of requests at once that are tried
GRID = (1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256)
#: seconds until an answer: from, to
ANSWER_S = (0.5, 1.5)
#: seconds until a refusal
REFUSAL_S = 0.02
SEED = 7


class Server:
    """Answers after a while, unless its limit is reached."""

    name = "direct"

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        self.refusals = self.twice = self.under_way = 0
        self._refused: set[Any] = set()

    async def send(self, attempt: Attempt) -> Reply:
        """Answers, or refuses."""
        who = attempt.request.agent
        error = self.refusal(time.monotonic())
        if error is not None:
            self.refusals += 1
            self.twice += who in self._refused
            self._refused.add(who)
            await asyncio.sleep(REFUSAL_S)
            raise error
        self._refused.discard(who)
        self.under_way += 1
        try:
            await asyncio.sleep(self._random.uniform(*ANSWER_S))
        finally:
            self.under_way -= 1
        return Reply("yes", attempt.model)

    def refusal(self, now: float) -> StateError | None:
        """The error for one more request; None if it is let in."""
        raise NotImplementedError


class Burst(Server):
    """Lets 60 requests pass at once and then 30 a second; says when to come again."""

    def __init__(self) -> None:
        super().__init__()
        self._tokens, self._filled = 60.0, time.monotonic()

    def refusal(self, now: float) -> StateError | None:
        """See ``Server``."""
        self._tokens = min(60.0, self._tokens + 30.0 * (now - self._filled))
        self._filled = now
        if self._tokens >= 1:
            self._tokens -= 1
            return None
        wait = (1 - self._tokens) / 30.0
        return StateError(429, "rate limit", {"retry-after": f"{wait:.3f}"})


class Steady(Server):
    """Takes 24 requests at once."""

    def refusal(self, now: float) -> StateError | None:
        """See ``Server``."""
        return StateError(429, "too many requests") if self.under_way >= 24 else None


class Shrinking(Server):
    """Takes 64 requests at once at first, and 8 fewer every 6 seconds; at least 8."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()

    def refusal(self, now: float) -> StateError | None:
        """See ``Server``."""
        room = max(8, 64 - 8 * int((now - self._began) / 6))
        return StateError(503, "overloaded") if self.under_way >= room else None


SERVERS: dict[str, Callable[[], Server]] = {
    "burst": Burst,
    "steady": Steady,
    "shrinking": Shrinking,
}


class Fixed(ConcurrencyLimiter):
    """The same number of requests at once, whatever the server says."""

    def release(self, slot: Any, status: int | None) -> None:
        """Ends a request."""
        slot.limit.limit = float(self.ceiling)
        super().release(slot, None)


@dataclass
class Run:
    """What one way of sending came to.

    Attributes:
        seconds: until the last answer.
        lost: requests without an answer.
        refusals: by the server.
        twice: requests that were refused twice in a row.
    """

    seconds: float
    lost: int
    refusals: int
    twice: int


class _Clock(selectors.SelectSelector):
    """A selector that lets simulated time pass instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list:
        """Nothing happens but that time passes."""
        found = super().select(0)
        if not found:
            self.now += timeout or 0.0
        return found


@contextmanager
def simulated_time() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in which, and around which, time is simulated."""
    clock, real = _Clock(), time.monotonic
    time.monotonic = lambda: clock.now  # type: ignore[assignment]
    loop = asyncio.SelectorEventLoop(clock)
    try:
        yield loop
    finally:
        loop.close()
        time.monotonic = real  # type: ignore[assignment]


def run(make: Callable[[], Server], requests: int, fixed: int | None) -> Run:
    """Sends requests that all wait from the beginning."""
    with simulated_time() as loop:
        server = make()
        patient = LLMSettings(
            client="direct", attempts=1000 if fixed else 5, deadline=1e6
        )
        slots = Fixed(fixed) if fixed else None
        client = ProviderClient(patient, SEED, {"direct": server}, slots)
        began = time.monotonic()
        found = loop.run_until_complete(_all(client, requests))
        seconds = time.monotonic() - began
    lost = sum(isinstance(each, BaseException) for each in found)
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, LLMError):
            raise each
    return Run(seconds, lost, server.refusals, server.twice)


async def _all(client: ProviderClient, requests: int) -> list[Any]:
    asked = [client.acomplete(request(number)) for number in range(requests)]
    return await asyncio.gather(*asked, return_exceptions=True)


def request(number: int) -> LLMRequest:
    """A request that differs from others by its number."""
    texts = ("You are one of many.", f"Number {number}, what now?")
    base = "http://127.0.0.1:9/v1"
    return LLMRequest(
        "ask", number, 1, *texts, schema=None, model="hosted_vllm/m", api_base=base
    )


def compare(name: str, requests: int) -> dict[str, Any]:
    """Answers a second of both ways, and what the one that finds its level lost."""
    own = run(SERVERS[name], requests, None)
    tried = {count: run(SERVERS[name], requests, count) for count in GRID}
    best = min(tried, key=lambda count: tried[count].seconds)
    return {
        "limit": name,
        "adaptive": requests / own.seconds,
        "fixed": requests / tried[best].seconds,
        "best": best,
        "share": tried[best].seconds / own.seconds,
        "lost": own.lost,
        "refusals": own.refusals,
        "twice": own.twice,
        "fixed_refusals": tried[best].refusals,
    }


def main() -> None:
    """Runs the benchmark from the command line."""
    given = options(__doc__, requests=1500, only=SERVERS)
    rows = [compare(name, given.requests) for name in given.only]
    show("Limits of providers, answers a second", rows, as_json=given.json)


if __name__ == "__main__":
    main()
