"""Flows of effects: how they are made, and the two drivers that answer them.

Memory logic is written once, as generators that *yield* effects and receive answers:
``text = yield from ask(request)``. ``run`` answers them blocking, ``arun`` with
``await``; the scheduler drives the same generators in the background. A performer
is anything with ``perform(effect)`` and ``aperform(effect)``.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

from mesa_memory.core import replies
from mesa_memory.core.requests import Effect, Flow, Gather, LLMRequest
from mesa_memory.errors import BadReply, EmbedderError, LLMError

#: the errors that end one flow of several, and leave the others be
FAULTS = (LLMError, EmbedderError)
type Fault = LLMError | EmbedderError


class Handler(Protocol):
    """Answers effects."""

    def instant(self) -> bool:
        """True if every answer comes without waiting."""

    def release(self) -> None:
        """The flow has ended, well or not."""

    def perform(self, effect: Effect) -> Any:
        """The answer, blocking."""

    async def aperform(self, effect: Effect) -> Any:
        """The answer, without blocking the event loop."""


def ask(
    request: LLMRequest,
    max_chars: int,
    check: Callable[[Any], Any] = lambda v: v,
    repairs: bool = True,
) -> Flow[Any]:
    """The validated reply to ``request``: an instance of its schema.

    A reply that does not pass is sent back once with the reason.

    Args:
        max_chars: longest text any field may have.
        check: says more than a schema can: takes the instance, returns what shall be
            returned or raises ``replies.Unusable``.
        repairs: False fails at once, without sending a reply back.

    Raises:
        BadReply: if the second reply does not pass either.
    """
    if request.schema is None:
        raise TypeError(f"a request needs a schema to be read: {request.purpose}")
    while True:
        reply = yield request
        try:
            return check(replies.read(reply, request.schema, max_chars))
        except replies.Unusable as problem:
            if request.repair or not repairs:
                raise BadReply(
                    f"the model's reply cannot be used: {problem}. Its text began "
                    f"with {(reply.text or '')[:80]!r}.",
                    purpose=request.purpose,
                    agent=request.agent,
                    step=request.step,
                ) from problem
            # Some providers refuse an empty message.
            shown = (reply.text or "(nothing)")[: replies.REPAIR_CHARS]
            request = replace(request, repair=(shown, str(problem)))


def gather[T](flows: Iterable[Flow[T]]) -> Flow[list[T | Fault]]:
    """Runs flows side by side, each at its own pace; one failing leaves the others be.

    A flow returns what it found; what follows from it (records opened, closed, counted)
    is done by whoever gathers, in the order of the flows and not of the replies.

    Returns:
        For each flow, in order, its result or the ``LLMError`` or ``EmbedderError`` that
        ended it; see ``first_fault``.
    """
    given = tuple(flows)
    return (yield Gather(given)) if given else []


def first_fault(outcomes: Iterable[Any]) -> Fault | None:
    """Of what ``gather`` gave, the error to raise; None if all went well.

    One that waiting cannot cure comes before one that it can.
    """
    faults = [outcome for outcome in outcomes if isinstance(outcome, FAULTS)]
    return next((f for f in faults if not f.passing), next(iter(faults), None))


def run[T](steps: Flow[T], performer: Handler, first: Effect | None = None) -> T:
    """Drives a flow to its end, blocking at each effect.

    Args:
        first: the effect at which an already started flow stands.
    """
    try:
        effect = next(steps) if first is None else first
        while True:
            try:
                answer = performer.perform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(answer)
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()


async def arun[T](steps: Flow[T], performer: Handler, first: Effect | None = None) -> T:
    """``run``, awaiting each effect."""
    try:
        effect = next(steps) if first is None else first
        while True:
            try:
                answer = await performer.aperform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(answer)
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()
