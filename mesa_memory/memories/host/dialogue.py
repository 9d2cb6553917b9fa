"""The events of a memory as later versions of Mesa-LLM and its examples read them."""

from typing import Any

from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.entry import Entry


class DialogueEntries:
    """Names that Mesa-LLM's negotiation example reads, in the order it reads them.

    It looks at ``short_term_memory`` or ``memory_entries``, then at ``buffer``, then at
    the two attributes here, and each time at the order of the events.
    """

    layer_context: LayerContext

    @property
    def _current_step_entry(self) -> Entry | None:
        """While the agent steps, the events that had arrived before."""
        context = self.layer_context
        waiting = context.inbox.waiting()
        additive = context.additive_event_types
        return (
            Entry.of(context.agent, context.now, waiting, additive) if waiting else None
        )

    @property
    def _step_event_order(self) -> list[str]:
        """Kinds of the accumulating events in ``step_content``, oldest first."""
        context = self.layer_context
        arrived = context.inbox.arrived()
        return [e.kind for e in arrived if e.kind in context.additive_event_types]

    @_step_event_order.setter
    def _step_event_order(self, order: list[str]) -> None:
        """Ignores what Mesa-LLM sets: the order follows from the events."""


def step_entries(memory: Any) -> list[Entry]:
    """The events that a memory holds, as one entry for each step, oldest first."""
    context = memory.layer_context
    pending = {event.id for event in context.inbox.events()}
    steps: dict[float, list[MemoryRecord]] = {}
    for record in memory.current_records():
        if record.origin == EVENT and record.id not in pending:
            steps.setdefault(record.step, []).append(record)
    additive = context.additive_event_types
    return [Entry.of(context.agent, s, steps[s], additive) for s in sorted(steps)]
