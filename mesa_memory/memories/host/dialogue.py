"""The events of a memory as entries of Mesa-LLM."""

from typing import Any

from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.layers.entry import Entry


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
