"""Requests about events of which a provider's content filter refuses some.

A filter says neither which event it refuses nor why. The event is found by asking about
fewer events, half as many each time. It is marked in its memory, so no later request
shows it, and it stays without grade, summary, fact and impression. All others get theirs.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import BadReply, ContentFiltered
from mesa_memory.layers.view import StepView

logger = logger_of(__name__)

REFUSED_WARNING = (
    "the provider's content filter refuses an event of agent %s: step %s, %s (%s). No "
    "further request shows it; it goes without grade, summary, fact and impression. All "
    "other events get theirs."
)

#: asks about some events
type Ask[T] = Callable[[list[MemoryRecord]], Flow[T]]


def askable(view: StepView, events: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """The events that a content filter has not refused."""
    refused = view.journal.filtered
    return [event for event in events if event.id not in refused]


def ask_about[T](
    view: StepView, events: Sequence[MemoryRecord], ask: Ask[T]
) -> Flow[T | None]:
    """The reply to a request about all events that a content filter lets pass.

    Args:
        ask: is given the events to ask about; it may be called several times.

    Returns:
        None if all are refused.

    Raises:
        ContentFiltered: if the request shows other texts than events.
        LLMError: without a usable reply.
    """
    left = askable(view, events)
    while left or not events:
        try:
            return (yield from ask(list(left)))
        except ContentFiltered:
            if not left:
                raise
        event = left.pop((yield from _first_refused(left, ask)))
        view.journal.filtered[event.id] = None
        agent = view.agent.unique_id
        logger.warning(REFUSED_WARNING, agent, event.step, event.kind, event.id)
    return None


def _first_refused[T](events: Sequence[MemoryRecord], ask: Ask[T]) -> Flow[int]:
    """The place of the event with which the events before it are refused."""
    passed, refused = 0, len(events)  # how many of the oldest together
    while refused - passed > 1:
        count = (passed + refused) // 2
        try:
            with suppress(BadReply):  # an unusable reply has passed the filter, too
                yield from ask(list(events[:count]))
            passed = count
        except ContentFiltered:
            refused = count
    return refused - 1
