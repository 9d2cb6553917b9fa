"""The deferred driver: one background event loop, and each memory's unfinished work.

Every request to a language model runs in that loop, whatever thread asks, so that
connections are shared and one limit holds for all. The loop's thread is a daemon; what
is still under way at interpreter exit is joined first.
"""

import asyncio
import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from mesa_memory.effects import Performer, Steps, arun, run
from mesa_memory.errors import EmbedderError, LLMError, MemoryStalled

logger = logging.getLogger(__name__)

#: so many batches of an agent that nobody reads may wait in blocking execution
MAX_WAITING = 32


class BackgroundLoop:
    """An event loop in a thread of its own, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future:
        """Starts ``work`` in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def here(self) -> bool:
        """True if the caller runs in the loop's own thread, and so must not wait."""
        return threading.current_thread() is self._thread

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="mesa-memory", daemon=True
                )
                self._thread.start()
            return self._loop

    def _alive(self) -> bool:
        """False in a forked child, where the thread did not come along."""
        return self._thread is not None and self._thread.is_alive()


background = BackgroundLoop()


def at_exit(function: Callable[[], None]) -> None:
    """Calls ``function`` at interpreter exit while threads can still be started.

    ``atexit`` alone is too late: by then name look-ups and new connections, which need
    the executor's threads, are refused.
    """
    getattr(threading, "_register_atexit", atexit.register)(function)


class Work:
    """The batches of one memory that are yet to be settled, one after the other.

    Args:
        settle: makes the flow that commits one batch; called again with the next
            batch after a passing failure, it must take up what was left.
        performer: makes the performer of a flow.
    """

    def __init__(
        self,
        settle: Callable[[Any], Steps[None]],
        performer: Callable[[], Performer],
    ) -> None:
        self._settle = settle
        self._performer = performer
        self._lock = threading.Lock()
        self._batches: deque[Any] = deque()
        self._running = False
        self._ended: Future | None = None  # made when somebody waits for the end
        self._runner: int | None = None
        self._error: Exception | None = None
        #: how many batches in a row have failed for a passing reason
        self.failures = 0
        #: after so many failures the run stops; set by the memory
        self.max_failures = 10

    def put(self, batch: Any) -> None:
        """Queues a batch."""
        with self._lock:
            self._batches.append(batch)

    @property
    def waiting(self) -> list[Any]:
        """The batches not yet begun, oldest first."""
        with self._lock:
            return list(self._batches) if self._batches else []

    @property
    def idle(self) -> bool:
        """True if ``settle`` would have nothing to do."""
        # Without the lock: an error is there before the work is no longer running.
        return not (self._running or self._batches or self._error)

    def begin(self) -> None:
        """Settles in the background what is queued; returns at once.

        What needs no waiting (most steps need no model at all) is done here and now.
        """
        performer = self._performer()
        if not self._enter():
            return
        flow = self._drain()
        self._runner = threading.get_ident()
        try:
            effect = next(flow)
            instant = performer.instant()
            if instant:
                run(flow, performer, effect)
        except StopIteration:
            self._leave(performer)
        except Exception as error:
            flow.close()
            self._leave(performer, error)
        else:
            if instant:
                self._leave(performer)
            else:
                self._runner = None
                background.submit(self._continue(flow, performer, effect))

    def settle(self, deferred: bool) -> None:
        """Waits until everything queued is settled.

        Args:
            deferred: let the background do it; else do it in this thread.

        Raises:
            LLMError: for a fault that will not pass.
            MemoryStalled: if passing faults went on for too long.
        """
        if background.here() or self._runner == threading.get_ident():
            return  # a callback of the work itself reads the memory
        while True:
            if running := self._end():
                running.result()
            elif not self._batches:
                break
            elif deferred:
                self.begin()
            else:
                self.run_here()
            if self._error:
                break
        self._raise()

    async def asettle(self) -> None:
        """``settle`` for event loops; the work itself runs in the background."""
        while self._running or self._batches:
            self.begin()
            if running := self._end():
                await asyncio.shield(asyncio.wrap_future(running))
            if self._error:
                break
        self._raise()

    def run_here(self) -> None:
        """Settles in this thread what is queued; a fault is kept for the owner."""
        performer = self._performer()
        if not self._enter():
            return
        self._runner = threading.get_ident()
        try:
            run(self._drain(), performer)
        except Exception as error:
            self._leave(performer, error)
        except BaseException:  # Ctrl-C: free the memory, then let it through
            self._leave(performer)
            raise
        else:
            self._leave(performer)

    def _end(self) -> Future | None:
        """Set when the work now running ends; None if none is running."""
        with self._lock:
            if self._running and self._ended is None:
                self._ended = Future()
            return self._ended

    def _enter(self) -> bool:
        with self._lock:
            if self._running or not self._batches:
                return False
            self._running = True
            return True

    def _leave(self, performer: Performer, error: Exception | None = None) -> None:
        performer.release()
        with self._lock:
            self._error = error or self._error
            self._running = False
            ended, self._ended = self._ended, None
            self._runner = None
        if ended is not None:
            ended.set_result(None)

    async def _continue(self, flow: Steps[None], performer: Any, effect: Any) -> None:
        try:
            await arun(flow, performer, effect)
        except Exception as error:
            self._leave(performer, error)
        except BaseException:
            self._leave(performer)
            raise
        else:
            self._leave(performer)

    def _drain(self) -> Steps[None]:
        while True:
            with self._lock:
                if not self._batches:
                    return
                batch = self._batches.popleft()
            try:
                yield from self._settle(batch)
            except (LLMError, EmbedderError) as error:
                if not error.passing:
                    raise
                self._passing(error)
            else:
                self.failures = 0

    def _passing(self, error: LLMError | EmbedderError) -> None:
        self.failures += 1
        logger.warning(
            "%s; kept and tried again at the next step (%d in a row)",
            str(error),  # a log that keeps records must not keep the agent alive
            self.failures,
        )
        if self.failures >= self.max_failures:
            raise MemoryStalled(error, self.failures) from error

    def _raise(self) -> None:
        with self._lock:
            error, self._error = self._error, None
        if error is not None:
            raise error
