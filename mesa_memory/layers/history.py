"""The messages that a memory has heard and sent, also those it remembers no more."""

from collections import deque
from collections.abc import Collection, Iterable
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import MemoryRecord
from mesa_memory.layers.entry import Message, foreign
from mesa_memory.layers.evicted_block import beyond, block_of


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

    def earlier(self, shown: Collection[str], block: int) -> list[Message]:
        """The messages without those shown elsewhere, oldest first.

        The oldest of a full history leave in blocks, not one after the other.

        Args:
            shown: ids of their records.
            block: how many steps there are in a block.
        """
        records = list(self.log)
        if records and len(records) == self.log.maxlen:
            first = block_of(records[0].step, block)
            later = [r for r in records if block_of(r.step, block) != first]
            records = later or records
        return [Message.of(r.step, r.content) for r in records if r.id not in shown]


def as_text(messages: Iterable[Message], context: Any, block: int = 1) -> str:
    """Messages as text, one line each; empty without any.

    Args:
        block: number of steps that leave together when room is lacking.
    """
    messages = list(messages)
    lines = [
        render.at_step(
            m.step,
            render.shorten(m.line(context.own_voice), context.event_chars),
            context.wording,
        )
        for m in messages
    ]
    limit, told = context.section_chars, [m.step for m in messages]
    left_out = beyond(list(zip(told, lines, strict=True)), limit, block)
    shown = render.section(lines[left_out:], limit, "messages", context.wording)
    if left_out:
        shown = f"{context.told('left out messages', count=left_out)}\n{shown}"
    return shown + "\n\n" * bool(lines)
