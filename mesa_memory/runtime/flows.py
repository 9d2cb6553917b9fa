"""Drives flows: blocking, in an event loop, or later in the background.

A flow is a generator that yields effects and receives answers, see ``core.requests``. From
top to bottom: two drivers, the handler that answers the effects of a memory's flows, the
answers that hold for many agents, and the queue of a memory's unfinished work.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import replace
from typing import Any

from mesa_memory.core.requests import (
    FAULTS,
    AcquireShared,
    AwaitShared,
    Effect,
    EmbedRequest,
    Flow,
    Gather,
    LLMRequest,
    PublishShared,
    SharedAnswers,
)
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
#: number of newest answers that are kept for all agents
MAX_SHARED_ANSWERS = 10_000
#: a flow has asked for nothing more
_ENDED = object()


def execution_of(name: str | None) -> str:
    """A way of execution as given; None or nothing is ``"deferred"``.

    Raises:
        ValueError: for another name.
    """
    if name and name not in EXECUTIONS:
        raise ValueError(f"execution must be one of {EXECUTIONS}, got {name!r}")
    return name or "deferred"


# -- the drivers ------------------------------------------------------------------------


def run[T](steps: Flow[T], handler: "EffectHandler", first: Effect | None = None) -> T:
    """Drives a flow to its end, blocking at each effect.

    Args:
        first: the effect at which an already started flow stands.
    """
    try:
        effect = next(steps) if first is None else first
        while True:
            try:
                answer = handler.perform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(answer)
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()
        handler.release()


async def arun[T](
    steps: Flow[T], handler: "EffectHandler", first: Effect | None = None
) -> T:
    """``run``, awaiting each effect."""
    try:
        effect = next(steps) if first is None else first
        while True:
            try:
                answer = await handler.aperform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(answer)
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()
        handler.release()


def guarded[T](flow: Flow[T], guard: Any) -> Flow[T]:
    """A flow that holds a lock whenever it is not waiting for an answer."""
    go_on: Callable[[Any], Any] = flow.send
    answer: Any = None
    while True:
        with guard:
            try:
                effect = go_on(answer)
            except StopIteration as stop:
                found: T = stop.value
                return found
        try:
            go_on, answer = flow.send, (yield effect)
        except Exception as error:
            go_on, answer = flow.throw, error
        except BaseException:
            with guard:
                flow.close()
            raise


# -- the effects of a memory ------------------------------------------------------------


class EffectHandler:
    """Performs the effects of one flow, and gives its open claims back at the end.

    Args:
        memory: what a user has put in the place of its llm object is asked for anew with
            each request.
        turn: of a gathered flow its place among all; empty for any other.
    """

    _claims: frozenset[str] = frozenset()

    def __init__(self, memory: Any, turn: tuple[int, ...] = ()) -> None:
        self._memory, self._services = memory, memory.services
        self._turn = turn
        self._effects = 0  # how many this flow has waited for

    def instant(self) -> bool:
        """True if requests are answered without waiting."""
        answer: bool = self._memory.instant()
        return answer

    def _user_llm(self) -> Any:
        return self._memory.model_choice.user_llm()

    def perform(self, effect: Effect) -> Any:
        """The answer, blocking."""
        if isinstance(effect, LLMRequest):
            request = self._numbered(effect)
            return self._services.complete(request, self._user_llm())
        if isinstance(effect, AcquireShared | PublishShared):
            return self._share(effect)
        self._effects += 1
        if isinstance(effect, EmbedRequest):
            return self._services.embed(effect.texts)
        if isinstance(effect, Gather):
            return self._gather(effect)
        return self._awaited(effect).result()

    def aperform(self, effect: Effect) -> Awaitable[Any]:
        """The answer, to be awaited."""
        if isinstance(effect, LLMRequest):
            request = self._numbered(effect)
            return self._services.acomplete(request, self._user_llm())
        if isinstance(effect, AcquireShared | PublishShared):
            return known(self._share(effect))
        self._effects += 1
        if isinstance(effect, EmbedRequest):
            return self._services.aembed(effect.texts)
        if isinstance(effect, Gather):
            return self._agather(effect)
        return asyncio.wrap_future(self._awaited(effect))

    async def _agather(self, effect: Gather) -> list[Any]:
        flows = [branch.drive(flow) for branch, flow in self._branches(effect)]
        return _outcomes(await asyncio.gather(*flows, return_exceptions=True))

    def release(self) -> None:
        """Ends the flow's claims, so that other flows do not wait for them."""
        if self._claims:
            self._services.shared.publish(dict.fromkeys(self._claims))
            self._claims = frozenset()

    async def drive(self, flow: Flow[Any]) -> Any:
        """The result of a gathered flow, or the error that ended it."""
        try:
            return await arun(flow, self)
        except Exception as error:
            return error

    def drive_here(self, flow: Flow[Any]) -> Any:
        """``drive``, blocking."""
        try:
            return run(flow, self)
        except Exception as error:
            return error

    def _gather(self, effect: Gather) -> list[Any]:
        """Runs all in the background, or one after the other if none waits."""
        branches = self._branches(effect)
        if self.instant() or self._user_llm():
            return _outcomes([b.drive_here(flow) for b, flow in branches])
        waiting = [background.submit(b.drive(flow)) for b, flow in branches]
        try:
            found = [future.result() for future in waiting]
        except BaseException:  # Ctrl-C: nobody wants the others' answers any more
            for future in waiting:
                future.cancel()
            raise
        return _outcomes(found)

    def _branches(self, effect: Gather) -> list[tuple["EffectHandler", Flow[Any]]]:
        """A separate performer for each flow: its open work ends with it."""
        self.release()
        place = self._effects if self._turn else self._services.bus.next_order()
        turn = (*self._turn, place)
        return [
            (EffectHandler(self._memory, (*turn, number)), flow)
            for number, flow in enumerate(effect.flows)
        ]

    def _numbered(self, request: LLMRequest) -> LLMRequest:
        self._effects += 1
        turn = (*self._turn, self._effects)
        return replace(request, turn=turn) if self._turn else request

    def _awaited(self, effect: Any) -> Any:
        """The answer of another flow; own claims are released before waiting for it."""
        if not isinstance(effect, AwaitShared):
            raise TypeError(
                f"a memory yielded {effect!r}, which is not an effect. Write 'yield "
                "from' to run another flow."
            )
        self.release()
        return self._services.shared.pending(effect.key)

    def _share(self, effect: AcquireShared | PublishShared) -> Any:
        """Claims keys, or publishes claimed ones.

        After its first answer a gathered flow asks for itself: who would find what it
        needs, and in whose request, would depend on whose reply came first.
        """
        shared = self._services.shared
        alone = bool(self._turn and self._effects)
        if isinstance(effect, AcquireShared):
            if alone:
                return SharedAnswers({}, list(effect.keys), [])
            claimed = shared.claim(effect.keys)
            self._claims = self._claims.union(claimed.ours)
            return claimed
        values = dict(effect.values)
        if alone:
            values = {k: v for k, v in values.items() if k in self._claims}
        self._claims = self._claims.difference(values)
        return self._services.publish(values)


async def known[T](answer: T) -> T:
    """An answer that is there already, to be awaited."""
    return answer


def _outcomes(found: list[Any]) -> list[Any]:
    """The outcomes of gathered flows; an error that is not a fault is raised."""
    for outcome in found:
        if isinstance(outcome, BaseException) and not isinstance(outcome, FAULTS):
            raise outcome
    return found


class SingleFlight:
    """Answers that hold for many agents, found once: values by key, with claims.

    The first agent to claim a key finds its value; agents that need it meanwhile wait for
    that one request instead of sending their own.
    """

    def __init__(self, capacity: int = MAX_SHARED_ANSWERS) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: dict[str, Any] = {}
        self._open: dict[str, Future | None] = {}  # a future once somebody waits

    def copy(self) -> "SingleFlight":
        """A copy with the same values, without claims."""
        twin = SingleFlight(self._capacity)
        with self._lock:
            twin._known.update(self._known)
        return twin

    def claim(self, keys: Iterable[str]) -> SharedAnswers:
        """Sorts keys into known, now ours, and being found by others."""
        claimed = SharedAnswers({}, [], [])
        with self._lock:
            for key in dict.fromkeys(keys):
                if key in self._known:
                    claimed.known[key] = self._known[key]
                elif key in self._open:
                    claimed.others.append(key)
                else:
                    self._open[key] = None
                    claimed.ours.append(key)
        return claimed

    def publish(self, values: Mapping[str, Any]) -> None:
        """Closes claims; a value of None gives the claim back."""
        with self._lock:
            for key, value in values.items():
                if value is not None:
                    self._known[key] = value
            while len(self._known) > self._capacity:
                del self._known[next(iter(self._known))]
            waiting = [(self._open.pop(k, None), v) for k, v in values.items()]
        for future, value in waiting:
            if future is not None:
                future.set_result(value)

    def pending(self, key: str) -> Future:
        """A future of the value that another flow is finding; None if that failed."""
        with self._lock:
            future = self._open.get(key) or Future()
            if key in self._open:
                self._open[key] = future
            else:
                future.set_result(self._known.get(key))
            return future


# -- a memory's unfinished work -----------------------------------------------------------


class CommitQueue:
    """The batches of one memory that are yet to be settled, one after the other.

    Args:
        settle: makes the flow that commits one batch; called again with the next
            batch after a passing failure, it must take up what was left.
        handler: makes the handler of a flow.
        guard: a reentrant lock, held while the flow goes from one effect to the next.
    """

    def __init__(
        self,
        settle: Callable[[Any], Flow[None]],
        handler: Callable[[], EffectHandler],
        guard: Any,
    ) -> None:
        self._guard = guard
        self._settle = settle
        self._handler = handler
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

    def begin(self, here: bool = False) -> None:
        """Settles the queued work in the background; returns at once.

        What needs no waiting (most steps need no model at all) is done here and now.
        A fault is kept for the owner.

        Args:
            here: do all of it in this thread.
        """
        if not self._enter():
            return
        self._runner = threading.get_ident()
        context, flow = copy_context(), guarded(self._drain(), self._guard)
        try:
            effect: Any = context.run(next, flow, _ENDED)
            if effect is not _ENDED:
                handler = self._handler()
                if not (here or handler.instant()):
                    self._runner = None
                    background.spawn(self._continue(flow, handler, effect), context)
                    return
                context.run(run, flow, handler, effect)
        except Exception as error:
            self._leave(error)
        except BaseException:  # Ctrl-C: free the memory, then let it through
            self._leave()
            raise
        else:
            self._leave()

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
            else:
                self.begin(here=not deferred)
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

    def clear_faults(self) -> None:
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

    def _leave(self, error: Exception | None = None) -> None:
        with self._lock:
            self._error = error or self._error
            self._running, self._begun = False, None
            ended, self._ended = self._ended, None
            self._runner = None
        if ended is not None:
            ended.set_result(None)

    async def _continue(self, flow: Flow[None], handler: Any, effect: Any) -> None:
        error: Exception | None = None
        try:
            await arun(flow, handler, effect)
        except Exception as raised:
            error = raised
        finally:
            self._leave(error)

    def unfinished(self) -> list[Any]:
        """The batches that a copy of the memory has yet to settle, oldest first."""
        with self._guard, self._lock:
            begun = self._begun
            again = [begun.again()] if self._running and begun is not None else []
            return again + list(self._batches)

    def guarded[T](self, flow: Flow[T]) -> Flow[T]:
        """A flow that holds the guard whenever it is not waiting for an answer."""
        return guarded(flow, self._guard)

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
