"""The names of an agent's layers: one for each memory that was ever made for it.

Ids of records begin with agent and layer, so two memories of one class must not share
a name. The agent itself keeps the names: its copy goes on counting where it stands.
"""

from collections.abc import Iterable
from typing import Any

#: attribute of the agent that lists its layers, in order of creation
_LAYERS = "_memory_layers"
#: a longer list or dict of an agent is not searched for memories
_SEARCHED = 100


def new_layer(agent: Any, kind: str) -> str:
    """A layer's name that the agent has not got yet: ``"stlt"``, ``"stlt-2"``, …"""
    taken = layers_of(agent)
    name, number = kind, 1
    while name in taken:
        number += 1
        name = f"{kind}-{number}"
    set_layers(agent, [*taken, name])
    return name


def layers_of(agent: Any) -> list[str]:
    """The names given so far, in order of creation."""
    names = getattr(agent, _LAYERS, ())
    return list(names) if isinstance(names, tuple) else []  # a stand-in has anything


def set_layers(agent: Any, names: Iterable[str]) -> None:
    """Puts the names in place of those given so far."""
    vars(agent)[_LAYERS] = tuple(names)


def memories_of(agent: Any) -> list[tuple[str, Any]]:
    """The package's memories that an agent holds, each once, and where.

    ``agent.memory`` comes first, as ``""``; others stand under their attribute, such as
    ``"diary"``, or ``"diaries.0"`` in a list, tuple or dict.
    """
    found: dict[int, tuple[str, Any]] = {}
    for place, held in _held_by(agent):
        if hasattr(held, "snapshot") and getattr(held, "agent", None) is agent:
            found.setdefault(id(held), (place, held))
    return list(found.values())


def memories_beside(model: Any) -> dict[str, Any]:
    """The package's memories that a model holds, and none of its agents, by attribute."""
    known = {id(m) for agent in model.agents for _, m in memories_of(agent)}
    return {
        place.partition(".")[0] or "memory": held
        for place, held in _held_by(model)
        if hasattr(held, "journal")
        and id(held) not in known
        and not isinstance(held, type)
    }


def memories(model: Any) -> dict[str, Any]:
    """The package's memories of a model's agents.

    ``agent.memory`` by ``str(unique_id)``; others by id and attribute: ``"7.diary"``.
    """
    return {
        f"{agent.unique_id}.{place}" if place else str(agent.unique_id): memory
        for agent in model.agents
        for place, memory in memories_of(agent)
    }


def _held_by(owner: Any) -> list[tuple[str, Any]]:
    """Objects that may be memories, by place, ``owner.memory`` first."""
    found = [("", getattr(owner, "memory", None))]
    for name, value in list(vars(owner).items()):
        found.append((name, value))
        if isinstance(value, list | tuple | dict) and len(value) <= _SEARCHED:
            items = value.items() if isinstance(value, dict) else enumerate(value)
            found += [(f"{name}.{key}", item) for key, item in items]
    return found
