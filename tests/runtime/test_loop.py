"""The background loop: work from many threads, each in its own context."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context

import pytest

from mesa_memory.runtime.loop import MAX_TASKS, BackgroundLoop
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
    for start in (loop.submit, loop.spawn):
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
        loop.spawn(work(number))
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
        loop.spawn(fails())
    loop.spawn(succeeds())
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
