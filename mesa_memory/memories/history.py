"""The messages that a memory has heard and sent, also those it remembers no more."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import MemoryRecord
from mesa_memory.memories.entry import Message, foreign


class MessageHistory:
    """The newest messages.

    Attributes:
        log: their records, oldest first; the oldest fall out.
    """

    def __init__(self, capacity: int = 50) -> None:
        self.log: deque[MemoryRecord] = deque(maxlen=capacity)

    @property
    def capacity(self) -> int:
        """How many are kept."""
        return self.log.maxlen or 0

    @capacity.setter
    def capacity(self, capacity: int) -> None:
        self.log = deque(self.log, capacity)

    def messages(
        self, entries: Iterable[Any], last: int | None, with_agent: Any
    ) -> list[Message]:
        """See ``MemoryModule.messages``.

        Args:
            entries: may hold messages that were put there by hand.
        """
        own = [Message.of(record.step, record.content) for record in list(self.log)]
        found = sorted([*own, *foreign(entries)], key=lambda m: m.step)
        if with_agent is not None:
            other = getattr(with_agent, "unique_id", with_agent)
            found = [m for m in found if other == m.sender or other in m.recipients]
        return found if last is None else found[len(found) - min(last, len(found)) :]


def as_text(messages: Iterable[Message], context: Any) -> str:
    """Messages as text, one line each; empty if there are none."""
    lines = [
        f"Step {render.value_text(m.step)}: "
        + render.shorten(m.line(context.names), context.event_chars)
        for m in messages
    ]
    shown = render.section(lines, context.section_chars, "messages")
    return shown + "\n\n" * bool(lines)
