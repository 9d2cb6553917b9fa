"""The deferred driver: each memory's unfinished work, done here or in the background."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any

from mesa_memory.core.requests import Flow, Handler, arun, run
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import BadReply, EmbedderError, LLMError, MemoryStalled
from mesa_memory.runtime.loop import background

logger = logger_of(__name__)

UNUSABLE = (
    "agent %s, step %s, %s: the model's replies were unusable for %s step(s) in a row "
    "(%s). The run continues: the pending work is kept, and requested again at "
    "each step. This warning appears once per run."
)
EXECUTIONS = ("deferred", "blocking")
#: most batches of an agent that nobody reads, in blocking execution
MAX_WAITING_BATCHES = 32


def execution_of(name: str | None) -> str:
    """A way of execution as given; None or nothing is ``"deferred"``.

    Raises:
        ValueError: for another name.
    """
    if name and name not in EXECUTIONS:
        raise ValueError(f"execution must be one of {EXECUTIONS}, got {name!r}")
    return name or "deferred"


#: a flow has asked for nothing more
_ENDED = object()


class CommitQueue:
    """The batches of one memory that are yet to be settled, one after the other.

    Args:
        settle: makes the flow that commits one batch; called again with the next
            batch after a passing failure, it must take up what was left.
        performer: makes the performer of a flow.
        guard: a reentrant lock, held while the flow goes from one effect to the next.
    """

    def __init__(
        self,
        settle: Callable[[Any], Flow[None]],
        performer: Callable[[], Handler],
        guard: Any,
    ) -> None:
        self._guard = guard
        self._settle = settle
        self._performer = performer
        self._lock = threading.Lock()
        self._batches: deque[Any] = deque()
        self._running = False
        self._begun: Any = None  # the batch now being settled
        self._ended: Future | None = None  # made when somebody waits for the end
        self._runner: int | None = None
        self._error: Exception | None = None
        #: failures in a row for which nobody answered
        self.failures = 0
        #: unusable answers since the last settled batch
        self.unusable = 0
        #: number of failures in a row after which the run stops; set by the memory
        self.max_failures = 10
        #: warns of something once in a run; set by who registers the work
        self.say_once: Callable[..., None] = logger.warning

    def put(self, batch: Any) -> None:
        """Queues a batch."""
        self._batches.append(batch)

    @property
    def waiting(self) -> list[Any]:
        """The batches not yet begun, oldest first."""
        return list(self._batches) if self._batches else []

    @property
    def idle(self) -> bool:
        """True if ``settle`` would have nothing to do."""
        # Without the lock: an error is there before the work is no longer running.
        return not (self._running or self._batches or self._error)

    def begin(self) -> None:
        """Settles the queued work in the background; returns at once.

        What needs no waiting (most steps need no model at all) is done here and now.
        """
        if not self._enter():
            return
        self._runner = threading.get_ident()
        try:
            if self._is_settled_here(self._drain(), copy_context()):
                self._leave()
        except Exception as error:
            self._leave(error)
        except BaseException:  # Ctrl-C: free the memory, then let it through
            self._leave()
            raise

    def _is_settled_here(self, flow: Flow[None], context: Context) -> bool:
        """False if the work goes on in the background, as it has to wait."""
        effect = context.run(self._first, flow)
        if effect is _ENDED:
            return True
        flow, performer = self.guarded(flow), self._performer()
        if performer.instant():
            try:
                context.run(run, flow, performer, effect)
            finally:
                performer.release()
            return True
        self._runner = None
        context.run(background.spawn, self._continue(flow, performer, effect))
        return False

    def _first(self, flow: Flow[None]) -> Any:
        """The first effect of a flow; most flows end without one."""
        with self._guard:
            return next(flow, _ENDED)

    def settle(self, deferred: bool) -> None:
        """Waits until everything queued is settled.

        Args:
            deferred: let the background do it; else do it in this thread.

        Raises:
            LLMError: for a fault that will not pass.
            MemoryStalled: if requests failed for too many steps.
        """
        here = threading.current_thread()
        if here is background.thread or here.ident == self._runner:
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
        """Settles the queued work in this thread; a fault is kept for the owner."""
        performer = self._performer()
        if not self._enter():
            return
        self._runner = threading.get_ident()
        with self._ending(performer):
            copy_context().run(run, self.guarded(self._drain()), performer)

    def forgive(self) -> None:
        """Forgets a fault that was not raised; its work is tried again."""
        with self._lock:
            self._error = None

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

    @contextmanager
    def _ending(self, performer: Handler) -> Iterator[None]:
        """Ends the work inside; an error is kept for the owner, but not Ctrl-C."""
        error: Exception | None = None
        try:
            yield
        except Exception as raised:
            error = raised
        finally:
            performer.release()
            self._leave(error)

    def _leave(self, error: Exception | None = None) -> None:
        with self._lock:
            self._error = error or self._error
            self._running, self._begun = False, None
            ended, self._ended = self._ended, None
            self._runner = None
        if ended is not None:
            ended.set_result(None)

    async def _continue(self, flow: Flow[None], performer: Any, effect: Any) -> None:
        with self._ending(performer):
            await arun(flow, performer, effect)

    def unfinished(self) -> list[Any]:
        """The batches that a copy of the memory has yet to settle, oldest first."""
        with self._guard, self._lock:
            begun = self._begun
            again = [begun.again()] if self._running and begun is not None else []
            return again + list(self._batches)

    def guarded(self, flow: Flow[None]) -> Flow[None]:
        """A flow that holds the guard whenever it is not waiting for an answer."""
        guarded: Any = _Guarded(flow, self._guard)
        return guarded

    def _drain(self) -> Flow[None]:
        while self._batches:  # nobody else takes one out
            batch = self._begun = self._batches.popleft()
            try:
                yield from self._settle(batch)
            except (LLMError, EmbedderError) as error:
                if not error.passing:
                    raise
                self._passing(error)
            else:
                self.failures = self.unusable = 0

    def _passing(self, error: LLMError | EmbedderError) -> None:
        """Counts a failure that waiting may cure.

        A model that answers, though not usably, is not an outage: it may be too small,
        and no waiting makes it larger. So that does not end a run, unless the first
        failure shall. It ends the count of an outage; an outage does not end the count
        of unusable replies, so that their warning comes.

        Raises:
            MemoryStalled: if there were too many in a row.
        """
        many = self.max_failures > 1
        if many and not getattr(
            error, "sent", True
        ):  # nobody was asked, so nobody failed
            return
        if answered := many and isinstance(error, BadReply):
            count = self.unusable = self.unusable + 1
            self.failures = 0
        else:
            count = self.failures = self.failures + 1
        if count <= self.max_failures:
            logger.warning(
                "%s; kept and tried again at the next step (%d in a row)",
                str(error),  # a log that keeps records must not keep the agent alive
                count,
            )
        if not answered and count >= self.max_failures:
            raise MemoryStalled(error, count) from error
        if answered and count == self.max_failures:
            where = map(str, (error.agent, error.step, error.purpose, count))
            self.say_once(UNUSABLE, *where, Exception.__str__(error))

    def _raise(self) -> None:
        with self._lock:
            error, self._error = self._error, None
        if error is not None:
            raise error


class _Guarded:
    """A flow that holds a lock whenever it is not waiting for an answer."""

    def __init__(self, flow: Flow[None], guard: Any) -> None:
        self._flow, self._guard = flow, guard

    def __next__(self) -> Any:
        with self._guard:
            return next(self._flow)

    def send(self, answer: Any) -> Any:
        with self._guard:
            return self._flow.send(answer)

    def throw(self, error: BaseException) -> Any:
        with self._guard:
            return self._flow.throw(error)

    def close(self) -> None:
        with self._guard:
            self._flow.close()
