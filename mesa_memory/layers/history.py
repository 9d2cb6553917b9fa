"""The messages that a memory has heard and sent, also those it remembers no more."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import MemoryRecord
from mesa_memory.layers.entry import Message, foreign


class MessageHistory:
    """The newest messages.

    Attributes:
        log: their records, oldest first; the oldest fall out.
    """

    def __init__(self, capacity: int = 50) -> None:
        self.log: deque[MemoryRecord] = deque(maxlen=capacity)

    def messages(
        self, entries: Iterable[Any], last: int | None, other: Any
    ) -> list[Message]:
        """See ``MemoryModule.messages``.

        Args:
            entries: may hold messages that were put there by hand.
            other: unique id of the agent to or from which they went; None is any.
        """
        own = [Message.of(record.step, record.content) for record in list(self.log)]
        found = sorted([*own, *foreign(entries)], key=lambda m: m.step)
        if other is not None:
            found = [m for m in found if other == m.sender or other in m.recipients]
        return found if last is None else found[len(found) - min(last, len(found)) :]


def as_text(messages: Iterable[Message], context: Any) -> str:
    """Messages as text, one line each; empty without any."""
    lines = [
        render.at_step(
            m.step,
            render.shorten(m.line(context.own_voice), context.event_chars),
            context.wording,
        )
        for m in messages
    ]
    limit, wording = context.section_chars, context.wording
    shown = render.section(lines, limit, "messages", wording)
    return shown + "\n\n" * bool(lines)
