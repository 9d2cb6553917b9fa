"""A model between two steps: its clock, its random generators, its memories.

What else a model holds is its own: it tells it in ``get_state()`` (plain data) and
takes it up in ``set_state(state)``, which also makes and removes agents.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mesa_memory.snapshots import Shelf, Verbatim, decode

#: key of the model's own state among those of its agents
MODEL = ""


def memories(model: Any) -> dict[str, Any]:
    """The package's memories of a model's agents, by ``str(unique_id)``."""
    found = ((a.unique_id, getattr(a, "memory", None)) for a in model.agents)
    return {str(key): memory for key, memory in found if hasattr(memory, "snapshot")}


def snapshot(model: Any) -> dict[str, Any]:
    """What a run goes on from; the memories' work must have been joined."""
    get_state = getattr(model, "get_state", None)
    own = {
        "steps": model.steps,
        "time": model.time,
        "agents": model.agent_id_counter,
        "random": model.random.getstate(),
        "rng": model.rng.bit_generator.state,
        "state": None if get_state is None else Verbatim(get_state()),
    }
    found = {key: memory.snapshot() for key, memory in memories(model).items()}
    return {MODEL: own, **found}


def restore(
    model: Any, states: Mapping[str, Any], shelf: Callable[[str, str], Shelf]
) -> None:
    """Puts a new model, at step 0, where the snapshot was taken.

    Args:
        states: an encoded snapshot.
        shelf: gives the records of an agent (its id as text) and layer.

    Raises:
        ValueError: if the model has no agent for a memory, or another class of it.
    """
    own = decode(states[MODEL])
    _advance(model, own["steps"])
    if own["state"] is not None:
        model.set_state(own["state"])
    model.agent_id_counter = own["agents"]
    model.time = own["time"]
    here = memories(model)
    missing = sorted(states.keys() - here.keys() - {MODEL})
    if missing:
        raise ValueError(
            f"the run has memories of agents {missing}, the new model has no such "
            "agents: make them in the model's set_state()"
        )
    for key, memory in here.items():
        if key in states:
            records = shelf(key, memory.layer)
            memory.restore(decode(states[key], records), records)
    version, words, gauss = own["random"]
    model.random.setstate((version, tuple(words), gauss))
    model.rng.bit_generator.state = own["rng"]


def _advance(model: Any, steps: int) -> None:
    """Lets Mesa's own clock and schedule run to a step, with nothing happening."""
    own_step = model._user_step
    model._user_step = _nothing
    try:
        for _ in range(steps):
            model.step()
    finally:
        model._user_step = own_step


def _nothing() -> None:
    """A step in which nothing happens."""
