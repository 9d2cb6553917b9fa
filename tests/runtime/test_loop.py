"""The background loop, and the queue of finished steps that it works on."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context

import pytest

from mesa_memory import MemoryStalled, STLTMemory, configure
from mesa_memory.errors import BadReply, LLMUnavailable
from mesa_memory.runtime.flows import CommitQueue
from mesa_memory.runtime.loop import MAX_TASKS, BackgroundLoop
from tests.support.town import Town
from tests.support.waiting import HUNG

WHO = ContextVar("who", default="nobody")


@pytest.fixture
def loop():
    made = BackgroundLoop()
    made.start()
    yield made
    made._loop.call_soon_threadsafe(made._loop.stop)
    made.thread.join(HUNG)


def test_work_of_many_threads_is_all_begun_each_in_its_own_context(loop):
    threads, each = 8, 200
    for start in (loop.submit, lambda work: loop.spawn(work, copy_context())):
        done, all_done = [], Future()

        async def work(number, done=done, all_done=all_done):
            await asyncio.sleep(0)
            done.append((WHO.get(), number))
            if len(done) == threads * each:
                all_done.set_result(None)

        def put(who, start=start, work=work):
            WHO.set(who)
            for number in range(each):
                start(work(number))

        with ThreadPoolExecutor(threads) as pool:
            runs = [pool.submit(copy_context().run, put, n) for n in range(threads)]
            for ended in runs:
                ended.result(HUNG)
        all_done.result(HUNG)
        assert sorted(done) == [(w, n) for w in range(threads) for n in range(each)]


def test_of_10_000_flows_a_bounded_number_has_begun_each_in_its_own_context(loop):
    running, most, told, all_done = 0, 0, [], Future()

    async def work(number):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        told.append((number, WHO.get()))
        if len(told) == 10_000:
            all_done.set_result(None)

    for number in range(10_000):
        WHO.set(number)
        loop.spawn(work(number), copy_context())
    all_done.result(HUNG)
    assert most <= MAX_TASKS
    assert told == [(n, n) for n in range(10_000)]


def test_work_that_fails_makes_room_for_other_work(loop):
    async def fails():
        raise RuntimeError("a fault of the work's own")

    last = Future()

    async def succeeds():
        last.set_result(None)

    loop._loop.set_exception_handler(lambda *_: None)
    for _ in range(2 * MAX_TASKS):
        loop.spawn(fails(), copy_context())
    loop.spawn(succeeds(), copy_context())
    last.result(HUNG)


def test_a_child_process_forgets_work_that_has_not_begun(loop):
    busy, go_on = Future(), threading.Event()

    async def first():
        busy.set_result(None)
        go_on.wait(HUNG)

    loop.submit(first())
    busy.result(HUNG)
    parent, thread = loop._loop, loop.thread
    parent.call_soon_threadsafe(parent.stop)
    loop.forked()
    assert loop.thread is None
    loop.submit(asyncio.sleep(0)).result(HUNG)
    go_on.set()
    thread.join(HUNG)


# -- a memory's queue of finished steps ------------------------------------------------


class Instant:
    """Performs nothing, and that at once."""

    def instant(self):
        return True

    def release(self):
        """Holds nothing."""


class Interrupted:
    """Settles batches; during the first one somebody presses Ctrl-C."""

    def __init__(self):
        self.pressed, self.settled = False, []

    def __call__(self, batch):
        if not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        self.settled.append(batch)
        return
        yield


@pytest.mark.parametrize("way", [{}, {"here": True}])
def test_after_ctrl_c_the_next_step_is_settled(way):
    settle = Interrupted()
    queue = CommitQueue(settle, Instant, threading.RLock())
    queue.put("interrupted")
    with pytest.raises(KeyboardInterrupt):
        queue.begin(**way)
    queue.put("next")
    waiting = threading.Thread(target=queue.settle, args=(True,), daemon=True)
    waiting.start()
    waiting.join(HUNG)
    assert not waiting.is_alive()
    assert settle.settled == ["next"]
    assert queue.idle


OUTAGE, UNUSABLE = LLMUnavailable, BadReply


@pytest.mark.parametrize("failing", [[OUTAGE], [OUTAGE, UNUSABLE], [UNUSABLE, OUTAGE]])
def test_outages_stop_a_run_and_unusable_replies_between_them_are_warned_of(failing):
    kinds = failing * 6

    def settle(step):
        raise kinds[step]("failed", agent=1, step=step, purpose="grade")
        yield

    queue, said, stalled = CommitQueue(settle, Instant, threading.RLock()), [], []
    queue.max_failures, queue.say_once = 3, lambda text, *parts: said.append(text)
    for step in range(len(kinds)):
        queue.put(step)
        try:
            queue.settle(deferred=False)
        except MemoryStalled as error:
            stalled.append((error.step, error.pending_steps))
    assert stalled == (
        [(n, n + 1) for n in range(2, 6)] if UNUSABLE not in kinds else []
    )
    assert len(said) == (UNUSABLE in kinds)


class Impatient:
    """A consolidation policy; somebody presses Ctrl-C when it is asked first."""

    def __init__(self):
        self.pressed = False

    def due(self, tokens, capacity):
        """None is ever due."""
        if not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        return 0


def test_ctrl_c_at_the_end_of_an_agents_step_loses_nothing():
    """In a notebook the model stays, and so do its agents' memories."""
    town = Town(
        1,
        lambda agent: STLTMemory(agent, consolidation=Impatient()),
        setup=lambda model: configure(model, llm="offline"),
    )
    with pytest.raises(KeyboardInterrupt):
        town.step()
    town.step()
    memory = town.citizens[0].memory
    assert [entry.step for entry in memory.short_term_memory] == [1, 2]
    assert "On day 1 I sold 1 fish." in memory.format_short_term()
