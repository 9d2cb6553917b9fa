"""The records that the agents of a model hold now, read without any trace."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.events import event_text
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.wording import Voice
from mesa_memory.memories.host.layer_names import memories_of
from mesa_memory.memories.host.memory_module import MemoryModule

#: the name under which events stand that no layer has admitted yet
PENDING = "pending"


@dataclass(frozen=True)
class HeldRecord:
    """One record that one layer of one agent's memory holds.

    Attributes:
        agent: unique id of the owner.
        layer: name of the layer, such as ``"window"``; ``"pending"`` for events that no
            layer has admitted yet. Of a memory beside ``agent.memory`` its attribute comes
            first: ``"diary.window"``.
        record: it may be held by other layers, too.
        text: what it says, as the agent would read it.
    """

    agent: Any
    layer: str
    record: MemoryRecord
    text: str


def minds(model: Any) -> Iterator[tuple[Any, str, MemoryModule]]:
    """Each agent, attribute (empty for ``agent.memory``) and memory of this package."""
    for agent in model.agents:
        for place, memory in memories_of(agent):
            if isinstance(memory, MemoryModule):
                yield agent, place, memory


def holdings(model: Any) -> list[HeldRecord]:
    """All current records that are held, by agent and layer, each in order of making."""
    found: list[HeldRecord] = []
    for agent, place, memory in minds(model):
        before = f"{place}." if place else ""
        for layer, records in _by_layer(memory).items():
            own = agent.unique_id, before + layer
            found += [HeldRecord(*own, each, text_of(memory, each)) for each in records]
    return found


def text_of(memory: MemoryModule, record: MemoryRecord) -> str:
    """The text of a record, as its owner reads it."""
    content = record.content
    if record.origin == DERIVED and isinstance(content, dict) and "text" in content:
        return str(content["text"])
    view = memory.view()
    voice, limit = Voice(view.names, view.wording), memory.event_chars
    return event_text(record.kind, record.content, limit, voice)


def texts(model: Any) -> dict[Any, list[str]]:
    """The texts of the records of each agent with a memory, by unique id."""
    found: dict[Any, dict[str, str]] = {
        agent.unique_id: {} for agent, _, _ in minds(model)
    }
    for held in holdings(model):
        found[held.agent][held.record.id] = held.text
    return {agent: list(said.values()) for agent, said in found.items()}


def _by_layer(memory: MemoryModule) -> dict[str, list[MemoryRecord]]:
    """The current records by what holds them, in the order of the memory's layers."""
    with memory.peek():
        memory.settle()
        with memory.exclusive():
            found = {each.name: _current(each.all_records()) for each in memory.layers}
            arrived = [event for _, events in memory.pending() for event in events]
            return found | {PENDING: _current(arrived)}


def _current(records: Any) -> list[MemoryRecord]:
    """Each once, in order of making, without those whose lifetime has ended."""
    open_ones = {record.id: record for record in records if record.current}
    return sorted(open_ones.values(), key=lambda record: record.order)
