"""Another memory for an agent in the middle of a run."""

from collections.abc import Mapping
from typing import Any

from mesa_memory.core.codec import by_name, encode, encode_snapshot, lost
from mesa_memory.core.records import records_in
from mesa_memory.core.snapshot import InMemoryRecords
from mesa_memory.memories import registry
from mesa_memory.memories.host.interventions import changed_by_hand
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.transfer import SourceMemory, copy_layers, copy_of

#: name of the intervention
REPLACE_MEMORY = "replace_memory"


def replace_memory(agent: Any, memory: str | registry.Maker) -> Any:
    """Gives an agent another memory; recorded, and kept when the run is resumed.

    Layers of the same name and class go on with copies of their records, which lead to
    the originals, and so does its biography; the new memory's other layers begin empty.
    Events that no layer has received yet arrive in the new memory. The former memory's records
    end now.

    Args:
        agent: its memory of another package is replaced by an empty one.
        memory: a name, see ``mesa_memory.memories.registry``; or a class, or another
            function of the agent. A resumed run makes it again; a lambda, which lacks a
            name, is left to the model's ``set_state()``.

    Returns:
        The new memory, which is ``agent.memory`` now.

    Raises:
        UnknownMemory: if the name is unknown, or no name; lists the names.
        MemoryMismatch: if a layer cannot go on in one of its name and class, since it
            was made with other arguments.
    """
    make, old = registry.find(memory), getattr(agent, "memory", None)
    if not isinstance(old, MemoryModule):
        agent.memory = made_with(make, agent)
        return agent.memory
    detail: dict[str, Any]
    with changed_by_hand(old, REPLACE_MEMORY) as detail:
        new = made_with(make, agent)
        detail |= {"memory": type(new).__name__, "was": type(old).__name__}
        if isinstance(new, MemoryModule):
            detail["layers"] = _continue(old, new)
        agent.memory = new
    if recorder := old.services.recorder:
        recorder.close_dropped()
    return new


def replacements(model: Any, memory: Any) -> list[tuple[Any, str | registry.Maker]]:
    """The agents that get another memory, and which.

    Args:
        memory: a name or a class for all agents with a memory; or a mapping of unique
            ids to these.

    Raises:
        ValueError, UnknownMemory: for an unknown agent or memory.
    """
    agents = {a.unique_id: a for a in model.agents if getattr(a, "memory", None)}
    chosen = memory if isinstance(memory, Mapping) else dict.fromkeys(agents, memory)
    for agent, kind in chosen.items():
        if agent not in agents:
            raise ValueError(
                f"memory names no agent {agent!r:.40} with a memory; there are agents "
                f"{', '.join(map(str, agents))}: memory={{unique_id: 'episodic'}}"
            )
        registry.find(kind)
    return [(agents[agent], kind) for agent, kind in chosen.items()]


def made_with(make: registry.Maker, agent: Any) -> Any:
    """A memory for an agent, which knows what made it: a resumed run makes it again."""
    made = make(agent)
    if isinstance(made, MemoryModule):
        maker = encode(make, by_name)
        made.journal.made_by = None if lost(maker) else maker
    return made


def _continue(old: MemoryModule, new: MemoryModule) -> list[str]:
    """Lets the layers that both memories have continue in the new one; their names."""
    state = old.snapshot()
    ahead = {r.id: r for r in records_in([state["waiting"], state["staging"]])}
    records = {r.id: r for r in old.held_records() if r.id not in ahead}
    kinds = {(layer.name, type(layer)) for layer in old.layers}
    both = [x for x in new.layers if (x.name, type(x)) in kinds]
    parts, now = encode_snapshot(state.get("parts", {})), old.now
    whose = f"the former memory of agent {old.agent.unique_id}"
    source = SourceMemory(whose, parts, InMemoryRecords(records), now, replaced=True)
    copy_layers(source, new, both)
    new.journal.pinned = [
        copy_of(new, fact, fact.content, (fact.id,), fact.origin)
        for fact in old.journal.pinned
    ]
    for event in ahead.values():
        new.arrive(event.kind, event.content, event.origin)
    return [layer.name for layer in both]
