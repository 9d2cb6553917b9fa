"""Concurrency that finds its level, in simulated time."""

import asyncio
import time

import pytest

from benchmarks.limits import SERVERS, Server, request, run, simulated_time
from mesa_memory.core.requests import Reply
from mesa_memory.llm.base import LLMSettings
from mesa_memory.llm.client import ProviderClient
from mesa_memory.llm.errors import StateError
from mesa_memory.llm.limits import ConcurrencyLimiter


class Narrow(Server):
    """Takes a few requests at once; refuses others as slowly as it was told to.

    Attributes:
        refused_at: the times of its refusals.
        sent_at: the times of all requests.
    """

    def __init__(self, room, status=429, headers=None):
        super().__init__()
        self.room, self.status, self.headers = room, status, headers
        self.refused_at, self.sent_at = [], []

    def refusal(self, now):
        self.sent_at.append(now)
        if self.under_way < self.room:
            return None
        self.refused_at.append(now)
        return StateError(self.status, "too many at once", self.headers)


class Silent(Server):
    """Works on ten requests at once, and lets all others wait."""

    def __init__(self, workers, seconds):
        super().__init__()
        self.seconds, self.workers = seconds, asyncio.Semaphore(workers)
        self.unanswered = 0

    async def send(self, attempt):
        try:
            async with self.workers:
                await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.unanswered += 1
            raise
        return Reply("yes", attempt.model)


def in_steps(server, agents, steps, before=lambda step: None):
    """The beginning, and the times at which steps ended in which each agent asked once.

    Args:
        before: called with the number of each step before it begins.
    """
    ended = []

    async def all_steps(client):
        for step in range(steps):
            before(step)
            asked = [
                client.acomplete(request(step * agents + n)) for n in range(agents)
            ]
            await asyncio.gather(*asked)
            ended.append(time.monotonic())

    with simulated_time() as loop:
        client = ProviderClient(LLMSettings(client="direct"), 1, {"direct": server})
        began = time.monotonic()
        loop.run_until_complete(all_steps(client))
    return began, ended


@pytest.mark.parametrize("name", SERVERS)
def test_it_comes_near_the_best_fixed_number_and_loses_nothing(name):
    own = run(SERVERS[name], 300, None)
    best = min(run(SERVERS[name], 300, fixed).seconds for fixed in (24, 32, 64))
    assert own.lost == own.twice == 0
    assert own.seconds <= best / 0.9


@pytest.mark.parametrize(
    ("room", "agents", "status"),
    [(3, 10, 429), (1, 4, 503), (5, 40, 529), (2, 10, 429)],
)
def test_a_narrow_server_is_found_within_two_seconds_and_then_hardly_ever_refuses(
    room, agents, status
):
    server = Narrow(room, status)
    began, ended = in_steps(server, agents, 60)
    later = [at for at in server.refused_at if at > began + 2]
    assert len(later) <= sum(at > began + 2 for at in server.sent_at) / 50
    assert server.twice == 0
    # Answers take a second on average, and each step waits for its last one.
    assert ended[-1] - began < 60 * (agents / room + 2)


def test_a_server_that_takes_more_later_is_noticed_after_a_while():
    server = Narrow(3)

    def widen(step):
        server.room = 3 if step < 40 else 8

    _, ended = in_steps(server, 10, 140, widen)
    assert ended[39] - ended[29] > 30  # ten steps of ten answers, three at once
    assert ended[-1] - ended[-11] < 26


def test_a_wait_that_a_narrow_server_asks_for_is_obeyed():
    server = Narrow(3, headers={"retry-after": "5"})
    in_steps(server, 10, 3)
    assert server.refused_at
    for at in server.refused_at:
        assert not [t for t in server.sent_at if at + 0.1 < t < at + 5]


def test_a_server_that_lets_requests_wait_too_long_gets_fewer_at_once():
    server = Silent(workers=4, seconds=5.0)
    _, ended = in_steps(server, 100, 6)
    assert server.unanswered < 60
    assert ended[-1] - ended[-2] <= 100 * 5 / 4 + 10


# -- slots -----------------------------------------------------------------------------


class Asking:
    """Requests that ask for leave, and what they got, in order."""

    def __init__(self, ceiling):
        self.slots, self.through, self.tasks = ConcurrencyLimiter(ceiling), [], []

    async def ask(self, name, order=0, key="server", refused=False):
        async def wait():
            slot = await self.slots.acquire(key, order, refused)
            self.through.append(name)
            return slot

        task = asyncio.ensure_future(wait())
        self.tasks.append(task)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task


def live(story):
    with simulated_time() as loop:
        loop.run_until_complete(story())


def test_who_waits_goes_in_order_and_the_refused_first():
    async def story():
        asking = Asking(1)
        tasks = {"first": await asking.ask("first")}
        for name, order in (("c", (1, "z")), ("b", (1, "a")), ("a", (0, "z"))):
            tasks[name] = await asking.ask(name, order)
        tasks["refused"] = await asking.ask("refused", (9, "z"), refused=True)
        while len(asking.through) < len(tasks):
            slot = await tasks[asking.through[-1]]
            asking.slots.release(slot, 200)
            await asyncio.sleep(0.1)
        assert asking.through == ["first", "refused", "a", "b", "c"]

    live(story)


@pytest.mark.parametrize("late", [False, True], ids=["waiting", "with leave"])
def test_a_request_that_is_given_up_takes_nobodys_place(late):
    async def story():
        asking = Asking(1)
        first = await asking.ask("first")
        given_up, other = await asking.ask("given up"), await asking.ask("other")
        if not late:
            given_up.cancel()
        asking.slots.release(first.result(), 200)
        given_up.cancel()
        assert (await other) is not None
        assert asking.through == ["first", "other"]

    live(story)
