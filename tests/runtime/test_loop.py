"""The background loop: work from many threads, and whom it tells that work has ended."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context

import pytest

from mesa_memory.runtime.loop import BackgroundLoop
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
    done, all_done = [], Future()

    async def work(number):
        await asyncio.sleep(0)
        done.append((WHO.get(), number))
        if len(done) == threads * each:
            all_done.set_result(None)

    def put(who):
        WHO.set(who)
        for number in range(each):
            loop.spawn(copy_context(), work, number)

    with ThreadPoolExecutor(threads) as pool:
        for ended in [pool.submit(copy_context().run, put, n) for n in range(threads)]:
            ended.result(HUNG)
    all_done.result(HUNG)
    assert sorted(done) == [(w, n) for w in range(threads) for n in range(each)]


def test_work_that_comes_while_the_loop_is_busy_is_begun_after(loop):
    busy, go_on, second = Future(), threading.Event(), Future()

    async def first():
        busy.set_result(None)
        go_on.wait(HUNG)

    async def later():
        second.set_result(None)

    loop.spawn(copy_context(), first)
    busy.result(HUNG)
    loop.spawn(copy_context(), later)
    assert not second.done()
    go_on.set()
    second.result(HUNG)


def test_work_that_begins_work_in_the_loop_is_followed_up(loop):
    ended = Future()

    async def work(left):
        if left:
            loop.spawn(copy_context(), work, left - 1)
        else:
            ended.set_result(None)

    loop.spawn(copy_context(), work, 50)
    ended.result(HUNG)


def test_work_outlives_a_failure_beside_it(loop):
    ended, told = Future(), []
    loop._loop.set_exception_handler(lambda _, context: told.append(context))

    async def fails():
        raise RuntimeError("on purpose")

    async def works():
        ended.set_result(None)

    loop.spawn(copy_context(), fails)
    loop.spawn(copy_context(), works)
    ended.result(HUNG)


def test_a_child_process_forgets_work_that_has_not_begun(loop):
    busy, go_on = Future(), threading.Event()

    async def first():
        busy.set_result(None)
        go_on.wait(HUNG)

    loop.spawn(copy_context(), first)
    busy.result(HUNG)
    parent, thread = loop._loop, loop.thread
    parent.call_soon_threadsafe(parent.stop)
    loop.forked()
    assert loop.thread is None
    again = Future()

    async def anew():
        again.set_result(None)

    loop.spawn(copy_context(), anew)
    again.result(HUNG)
    go_on.set()
    thread.join(HUNG)
