"""Concurrency that finds its level, in simulated time."""

import asyncio

import pytest

from benchmarks.limits import SERVERS, Reply, Server, run, simulated_time
from mesa_memory.llm.concurrency import FIRST, Slots


class Queue(Server):
    """Works on ten requests at once, and lets all others wait."""

    workers = 10

    def __init__(self):
        super().__init__()
        self.most, self.waiting = [], 0
        self.room = asyncio.Semaphore(self.workers)

    async def send(self, attempt):
        self.waiting += 1
        self.most.append(self.waiting)
        try:
            async with self.room:
                await asyncio.sleep(1.0)
        finally:
            self.waiting -= 1
        return Reply("yes", attempt.model)


class Thoughtful(Queue):
    """Takes ever longer, but for any number of requests at once."""

    async def send(self, attempt):
        self.waiting += 1
        self.most.append(self.waiting)
        try:
            await asyncio.sleep(1.0 + 4.0 * (len(self.most) > 400))
        finally:
            self.waiting -= 1
        return Reply("yes", attempt.model)


@pytest.mark.parametrize("name", SERVERS)
def test_it_comes_near_the_best_fixed_number_and_loses_nothing(name):
    own = run(SERVERS[name], 1000, None)
    best = min(run(SERVERS[name], 1000, fixed).seconds for fixed in (24, 32, 64))
    assert own.lost == own.twice == 0
    assert own.seconds <= best / 0.9


def test_a_queue_is_noticed_by_its_latency():
    made = []
    done = run(lambda: made.append(Queue()) or made[0], 1500, None)
    assert done.lost == 0
    assert done.seconds <= 1500 / Queue.workers / 0.95
    later = made[0].most[500:]
    assert sum(later) / len(later) < 4 * Queue.workers


def test_answers_that_take_longer_without_a_queue_cost_no_pace():
    made = []
    done = run(lambda: made.append(Thoughtful()) or made[0], 3000, None)
    assert done.lost == 0
    assert max(made[0].most) == 256
    assert sum(made[0].most[1000:2000]) / 1000 > 150


# -- slots -----------------------------------------------------------------------------


class Asking:
    """Requests that ask for leave, and what they got, in order."""

    def __init__(self, ceiling):
        self.slots, self.through, self.tasks = Slots(ceiling), [], []

    async def ask(self, name, order=0, key="server", refused=False):
        async def wait():
            slot = await self.slots.acquire(key, lambda: order, refused)
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


def test_a_request_that_is_given_up_takes_nobodys_place():
    async def story():
        asking = Asking(1)
        first = await asking.ask("first")
        given_up, other = await asking.ask("given up"), await asking.ask("other")
        given_up.cancel()
        asking.slots.release(first.result(), 200)
        assert (await other) is not None
        assert asking.through == ["first", "other"]

    live(story)


def test_leave_that_comes_too_late_is_given_back():
    async def story():
        asking = Asking(1)
        first, late = await asking.ask("first"), await asking.ask("late")
        other = await asking.ask("other")
        asking.slots.release(first.result(), 200)
        late.cancel()
        assert (await other) is not None

    live(story)


def test_servers_have_levels_of_their_own_under_one_ceiling():
    async def story():
        asking = Asking(FIRST + 4)
        for number in range(FIRST + 8):
            await asking.ask(number)
        assert len(asking.through) == FIRST
        for number in range(8):
            await asking.ask(number, key="other")
        assert len(asking.through) == FIRST + 4

    live(story)


def test_a_refusal_lowers_the_level_once_in_a_round_trip():
    async def story():
        asking = Asking(256)
        for number in range(FIRST):
            await asking.ask(number)
        level = asking.slots.levels["server"]
        for number in range(3):
            asking.slots.release(asking.tasks[number].result(), 429)
        assert level.limit == pytest.approx(FIRST * 0.9)
        asking.slots.release(asking.tasks[3].result(), 500)
        assert level.limit == pytest.approx(FIRST * 0.9)

    live(story)


def test_a_load_that_is_mostly_refused_begins_again_with_one():
    async def story():
        asking = Asking(256)
        for number in range(FIRST):
            await asking.ask(number)
        level = asking.slots.levels["server"]
        for number in range(FIRST // 2):
            asking.slots.release(asking.tasks[number].result(), 429)
        assert level.limit == 1

    live(story)
