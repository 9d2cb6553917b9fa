"""The background loop: work from many threads, and whom it tells that work has ended."""

import asyncio
import inspect
import threading
import warnings
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
            loop.spawn(work(number), copy_context())

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

    loop.spawn(first(), copy_context())
    busy.result(HUNG)
    loop.spawn(later(), copy_context())
    assert not second.done()
    go_on.set()
    second.result(HUNG)


def test_work_that_begins_work_in_the_loop_is_followed_up(loop):
    ended = Future()

    async def work(left):
        if left:
            loop.spawn(work(left - 1), copy_context())
        else:
            ended.set_result(None)

    loop.spawn(work(50), copy_context())
    ended.result(HUNG)


def test_work_outlives_a_failure_beside_it(loop):
    ended, told = Future(), []
    loop._loop.set_exception_handler(lambda _, context: told.append(context))

    async def fails():
        raise RuntimeError("on purpose")

    async def works():
        ended.set_result(None)

    loop.spawn(fails(), copy_context())
    loop.spawn(works(), copy_context())
    ended.result(HUNG)


def test_whoever_waits_is_told_after_what_is_ready_in_the_loop(loop):
    order, told = [], Future()

    async def first():
        asyncio.get_running_loop().call_soon(order.append, "ready")
        loop.soon(order.append, "told")
        loop.soon(told.set_result, None)

    loop.spawn(first(), copy_context())
    told.result(HUNG)
    assert order == ["ready", "told"]


def test_another_thread_tells_at_once(loop):
    told = []
    loop.soon(told.append, 1)
    assert told == [1]


def test_a_child_process_forgets_what_is_not_begun_without_a_word(loop):
    busy, go_on = Future(), threading.Event()

    async def first():
        busy.set_result(None)
        go_on.wait(HUNG)

    async def later():
        raise AssertionError("it is the parent's")

    loop.spawn(first(), copy_context())
    busy.result(HUNG)
    parent, thread, work = loop._loop, loop.thread, later()
    loop.spawn(work, copy_context())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loop.forked()
        assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED
    assert loop.thread is None
    again = Future()

    async def anew():
        again.set_result(None)

    loop.spawn(anew(), copy_context())
    again.result(HUNG)
    go_on.set()
    parent.call_soon_threadsafe(parent.stop)
    thread.join(HUNG)
