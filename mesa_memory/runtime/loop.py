"""One event loop in the background, for every request to a language model.

Requests of all threads run in that loop, so that connections are shared
and one limit holds for all. The loop's thread is a daemon; unfinished work is joined at
interpreter exit, see ``at_exit``. No thread can be started then (Python 3.12.1), so the
threads that requests may need are started together with the loop.
"""

import asyncio
import atexit
import concurrent.futures.thread  # joins its threads at exit: later than ``at_exit``
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context
from typing import Any

from mesa_memory.core.at_fork import at_fork

#: blocking calls (name look-ups, clients without a coroutine) that run at once
WORKER_THREADS = 32
#: memories whose work in the background has begun, at once; of more than a provider is
#: sent at once (``LLMSettings.concurrency``), so that none of its places stays empty
MAX_TASKS = 1000


class BackgroundLoop:
    """An event loop in a thread of its own, started on first use."""

    def __init__(self) -> None:
        self.forked()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future:
        """Starts ``work`` in the loop; it runs in the caller's context."""
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        self._hold(future)
        return future

    def spawn(self, work: Coroutine[Any, Any, None], context: Context) -> None:
        """``submit``, without a result; beyond ``MAX_TASKS`` it waits for its turn."""
        loop = self._running()
        with self._lock:
            self._waiting.append((work, context))
            is_first = len(self._waiting) == 1  # else the loop is awake, or full
        if is_first:
            loop.call_soon_threadsafe(self._start_waiting)

    def start(self) -> None:
        """Makes sure that the loop runs: at interpreter exit it could not be started."""
        self._running()

    def forked(self) -> None:
        """In a child process: forgets the loop, whose threads stayed in the parent."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        #: the loop's own thread, which must not wait for the loop
        self.thread: threading.Thread | None = None
        self._held: set[Future] = set()
        self._tasks: set[asyncio.Task] = set()
        self._waiting: deque[tuple[Coroutine[Any, Any, None], Context]] = deque()

    def _start_waiting(self) -> None:
        """Starts waiting work, oldest first, as long as there is room for it."""
        loop = asyncio.get_running_loop()
        while self._waiting and len(self._tasks) < MAX_TASKS:
            work, context = self._waiting[0]
            task = loop.create_task(work, context=context)
            self._tasks.add(task)
            task.add_done_callback(self._end)
            self._waiting.popleft()

    def _end(self, task: asyncio.Task) -> None:
        self._tasks.discard(task)
        if self._waiting:
            self._start_waiting()

    def _hold(self, future: Future) -> None:
        """Holds running work, as the loop itself does so weakly."""
        self._held.add(future)
        future.add_done_callback(self._held.discard)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_default_executor(_workers())
                self.thread = threading.Thread(
                    target=self._loop.run_forever, name="mesa-memory", daemon=True
                )
                self.thread.start()
            return self._loop


def _workers() -> concurrent.futures.ThreadPoolExecutor:
    """A pool whose threads all run already."""
    pool = concurrent.futures.ThreadPoolExecutor(WORKER_THREADS, "mesa-memory")
    together = threading.Barrier(WORKER_THREADS)
    for _ in range(WORKER_THREADS):
        pool.submit(together.wait)
    return pool


background = BackgroundLoop()
at_fork(after_in_child=background.forked)


def in_event_loop() -> bool:
    """True if the caller runs in an event loop, whose other tasks wait for it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def elsewhere[T](function: Callable[..., T], *given: Any) -> T:
    """Calls ``function`` in a thread in which no event loop runs.

    The thread is a new one, not the background loop's: the caller may hold a lock for
    which that loop waits.
    """
    with concurrent.futures.ThreadPoolExecutor(1, "mesa-memory") as pool:
        return pool.submit(function, *given).result()


def at_exit(function: Callable[[], None]) -> None:
    """Calls ``function`` at interpreter exit while threads can still be started.

    ``atexit`` alone is too late: by then name look-ups and new connections, which need
    the executor's threads, are refused.
    """
    getattr(threading, "_register_atexit", atexit.register)(function)
