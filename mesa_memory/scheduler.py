"""The deferred driver: each memory's unfinished work, done here or in the background."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mesa_memory.background import background
from mesa_memory.effects import Steps
from mesa_memory.errors import EmbedderError, LLMError, MemoryStalled
from mesa_memory.flows import Performer, arun, run

logger = logging.getLogger(__name__)

EXECUTIONS = ("deferred", "blocking")
#: so many batches of an agent that nobody reads may wait in blocking execution
MAX_WAITING = 32


def execution_of(name: str | None) -> str:
    """A way of execution as given; None or nothing is ``"deferred"``.

    Raises:
        ValueError: for another name.
    """
    if name and name not in EXECUTIONS:
        raise ValueError(f"execution must be one of {EXECUTIONS}, got {name!r}")
    return name or "deferred"


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
