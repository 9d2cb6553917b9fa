"""One event loop in the background, for every request to a language model.

Every request runs in that loop, whatever thread asks, so that connections are shared
and one limit holds for all. The loop's thread is a daemon; what is still under way at
interpreter exit is joined first, see ``at_exit``. No thread can be started then (Python
3.12.1), so those that requests may need are started together with the loop.
"""

import asyncio
import atexit
import concurrent.futures.thread  # joins its threads at exit: later than what is below
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context
from typing import Any

from mesa_memory.core.at_fork import at_fork
from mesa_memory.hosts.litellm import is_left_behind

#: how many blocking calls (name look-ups, clients without a coroutine) run at once
WORKERS = 32


class BackgroundLoop:
    """An event loop in a thread of its own, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Future[None]] = set()
        self._new: deque[tuple[Coroutine[Any, Any, None], Context]] = deque()
        self._woken = False  # to begin what is new
        #: the loop's own thread, in which nobody must wait for it
        self.thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future:
        """Starts ``work`` in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def spawn(self, work: Coroutine[Any, Any, None], context: Context) -> None:
        """Starts ``work`` in the loop, whose end nobody waits for; cheaper.

        Of several in a row only the first wakes the loop.

        Args:
            context: in which it runs; nothing else does.
        """
        loop = self._running()
        self._new.append((work, context))
        if not self._woken:
            self._woken = True
            loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._woken = False  # first: what comes from now on wakes the loop again
        while self._new:
            work, context = self._new.popleft()
            task = asyncio.create_task(work, context=context)
            self._tasks.add(task)  # the loop itself would let go of it
            task.add_done_callback(self._tasks.discard)

    def soon(self, tell: Callable[[Any], None], what: Any) -> None:
        """Calls ``tell``, for whom another thread waits.

        In the loop what is ready now is done first: whoever is told at once takes turns
        with it, one by one, and each turn costs more than the work.
        """
        if self._loop is not None and threading.current_thread() is self.thread:
            self._loop.call_soon(tell, what)
        else:
            tell(what)

    def start(self) -> None:
        """Makes sure that the loop runs: at interpreter exit it could not be started."""
        self._running()

    def forked(self) -> None:
        """Forgets the loop in a child process, where its threads did not come along."""
        self._lock = threading.Lock()
        self._loop = self.thread = None
        for work, _ in self._new:
            work.close()  # whoever put it here takes it up again
        self._tasks, self._new, self._woken = set(), deque(), False

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self.thread is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_default_executor(_workers())
                self._loop.set_exception_handler(_report)
                self.thread = threading.Thread(
                    target=self._loop.run_forever, name="mesa-memory", daemon=True
                )
                self.thread.start()
            return self._loop


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Prints what went wrong in the loop, except of tasks that litellm has left behind."""
    if not is_left_behind(context.get("task")):
        loop.default_exception_handler(context)


def _workers() -> concurrent.futures.ThreadPoolExecutor:
    """A pool whose threads all run already."""
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS, "mesa-memory")
    together = threading.Barrier(WORKERS)
    for _ in range(WORKERS):
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
    """What ``function`` returns, called in a thread in which no event loop runs.

    It is a thread of its own, not the background loop's: whoever waits here may hold
    what that loop is waiting for.
    """
    with concurrent.futures.ThreadPoolExecutor(1, "mesa-memory") as pool:
        return pool.submit(function, *given).result()


def at_exit(function: Callable[[], None]) -> None:
    """Calls ``function`` at interpreter exit while threads can still be started.

    ``atexit`` alone is too late: by then name look-ups and new connections, which need
    the executor's threads, are refused.
    """
    getattr(threading, "_register_atexit", atexit.register)(function)
