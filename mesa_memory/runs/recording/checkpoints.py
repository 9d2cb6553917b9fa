"""A model between two steps: its clock, its random generators, its memories.

A model gives its other state in ``get_state()`` (plain data) and restores it in
``set_state(state)``, which also makes and removes agents.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any
from zlib import crc32

from mesa_memory.core.codec import decode, decode_snapshot
from mesa_memory.core.content import plain
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.text.redaction import secret_name
from mesa_memory.errors import MemoryMismatch
from mesa_memory.hosts import mesa
from mesa_memory.llm.ledger import Usage
from mesa_memory.memories.host.layer_names import memories, memories_beside
from mesa_memory.memories.replacement import made_with
from mesa_memory.runs.recording.parameters import Find, taken
from mesa_memory.runtime.services import Services
from mesa_memory.tasks import BY_RESEARCHER

#: the arguments that seed a model
_SEED_NAMES = {"rng", "seed", "scenario"}
#: key of the model's own state among those of its agents
MODEL_KEY = ""
#: digits of US dollars
COST_DIGITS = 12
#: what differs between two runs of the same model
_PASSING = ("attempts", "failed_attempts", "latency")
#: key of the name of a memory's class in its state
CLASS_KEY = "class"
STATE_WARNING = (
    "%s has get_state or set_state in another form, so a resumed run begins without its "
    "own state. To keep it, write both: get_state() and set_state(state)."
)
#: attributes of a model that say whether it runs, not how things are in it
_RUNNING = {"running"}
#: encoded states of the model and of its memories, by the key of each
type States = Mapping[str, Any]
#: gives the records of an agent (its unique id) and layer
type Shelf = Callable[[Any, str], RecordLookup]
#: values that are plain data, and what holds them
_SCALARS, _HOLDERS = (bool, int, float, str, NoneType), (list, tuple, dict)


def snapshot(model: Any) -> dict[str, Any]:
    """The state from which a run goes on; the memories' work must have been joined."""
    own = {
        **mesa.clock_state(model),
        "random": model.random.getstate(),
        "rng": model.rng.bit_generator.state,
        "first": mesa.first_state(model),
        "used": _used(model),
        "state": _own_state(model),
    }
    if own["state"] is None:
        own["plain"] = _plain_state(model)
    if step_name := Services.of(model).wordings.step_name:
        own["step_name"] = step_name
    found = {
        key: memory.snapshot() | {CLASS_KEY: type(memory).__name__}
        for key, memory in memories(model).items()
    }
    return {MODEL_KEY: own, **found}


def _own_state(model: Any) -> Any:
    """The result of ``get_state()``; None without it or without ``set_state(state)``."""
    get, put = (getattr(model, name, None) for name in ("get_state", "set_state"))
    if callable(get) and callable(put) and _takes(get) and _takes(put, None):
        return plain(get())
    if get is not None or put is not None:
        Services.of(model).say_once(STATE_WARNING, type(model).__name__)
    return None


def _plain_state(model: Any) -> dict[str, int]:
    """A checksum of each attribute of plain data, of the model and, by class, of its agents."""
    found: dict[str, int] = {}
    for owner in (model, *model.agents):
        of = "" if owner is model else f"{type(owner).__name__}."
        for name, value in vars(owner).items():
            unseen = name.startswith("_") or name in _RUNNING or secret_name(name)
            if not unseen and _is_plain(value):
                told = repr(value).encode("utf-8", "surrogatepass")
                found[of + name] = crc32(told, found.get(of + name, 0))
    return found


def _is_plain(value: Any) -> bool:
    if type(value) in _HOLDERS:
        held = value.values() if isinstance(value, dict) else value
        return all(map(_is_plain, held))
    return isinstance(value, _SCALARS)


def _warn_of_lost(model: Any, then: Mapping[str, int]) -> None:
    """Warns of attributes that are not what they were when the snapshot was taken."""
    now = _plain_state(model)
    if lost := sorted(name for name, value in then.items() if now.get(name) != value):
        warnings.warn(
            f"{type(model).__name__} lacks get_state(), so these are as its __init__ "
            f"makes them, not as they were at step {model.steps}: "
            f"{', '.join(lost)}. If decisions or outcomes depend on them, return them "
            "from get_state(), put them back in set_state(state), and record the run "
            "again.",
            stacklevel=2,
        )


def _takes(method: Any, *given: Any) -> bool:
    try:
        inspect.signature(method).bind(*given)
    except (TypeError, ValueError):
        return False
    return True


def warn_of_beside(model: Any, known: set[str]) -> None:
    """Warns, once for each attribute, of memories that only the model holds.

    Args:
        known: attributes of which was warned; new ones are added.
    """
    for name, memory in memories_beside(model).items():
        if name not in known:
            known.add(name)
            warnings.warn(
                f"the run is recorded, but the {type(model).__name__} holds a memory "
                f"that no agent holds: model.{name} ({type(memory).__name__} of agent "
                f"{memory.agent.unique_id}). When the run is resumed, it is as the "
                "model's __init__ makes it. To keep it, let the agent hold it: "
                "agent.diary = … is restored under any name.",
                stacklevel=2,
            )


def restore(
    model: Any, states: States, shelf: Shelf, given: Mapping[str, Any], find: Find
) -> None:
    """Puts a new model, at step 0, where the snapshot was taken.

    Args:
        states: an encoded snapshot.
        given: arguments that the caller chose for the new model; they stay.
        find: see ``finder``.

    Raises:
        MemoryMismatch: if the model lacks an agent for a memory, or has another class
            of memory for it.
    """
    own = decode(states[MODEL_KEY])
    if own.get("first") is not None and not _SEED_NAMES & given.keys():
        mesa.begin_with(model, own["first"])
    mesa.advance(model, own)
    Services.of(model).ledger.go_on(
        {
            (purpose, model): Usage(**counts)
            for purpose, by_model in own.get("used", {}).items()
            for model, counts in by_model.items()
        }
    )
    wordings = Services.of(model).wordings
    if not wordings.step_name and "step_name" in own:
        configured = replace(wordings, known={}, step_name=own["step_name"])
        Services.of(model).wordings = configured
    if own["state"] is not None:
        model.set_state(own["state"])
    mesa.set_clock(model, own)
    if "plain" in own:
        _warn_of_lost(model, own["plain"])
    _make_again(model, states, find)
    here = memories(model)
    missing = sorted(states.keys() - here.keys() - {MODEL_KEY})
    if missing:
        raise MemoryMismatch(
            f"the run has memories of agents {missing}, which the new model "
            "lacks: make them in the model's set_state()"
        )
    for key, memory in here.items():
        if key in states:
            _take_up(key, memory, states[key], shelf)
    version, words, gauss = own["random"]
    model.random.setstate((version, tuple(words), gauss))
    model.rng.bit_generator.state = own["rng"]


def _used(model: Any) -> dict[str, dict[str, Any]]:
    """The usage of the run by purpose and model, without a researcher's own requests."""
    found: dict[str, dict[str, Any]] = {}
    ledger = Services.of(model).ledger
    for (purpose, name), used in sorted(ledger.by("purpose", "model").items()):
        if purpose not in BY_RESEARCHER:
            counts = {name: n for name, n in vars(used).items() if name not in _PASSING}
            if used.cost is not None:
                # Calls end in any order, and so are their prices added.
                counts["cost"] = round(used.cost, COST_DIGITS)
            found.setdefault(purpose, {})[name] = counts
    return found


def _make_again(model: Any, states: States, find: Find) -> None:
    """Gives agents the memories that ``replace_memory`` or a study gave them."""
    for agent in model.agents:
        state = states.get(str(agent.unique_id))
        maker = decode(state.get("made_by")) if isinstance(state, Mapping) else None
        journal = getattr(getattr(agent, "memory", None), "journal", None)
        if maker and getattr(journal, "made_by", None) != maker:
            make, _ = taken(maker, None, find, trust=False)
            if make is not None:
                agent.memory = made_with(make, agent)


def _take_up(key: str, memory: Any, state: States, shelf: Shelf) -> None:
    """Puts one memory where it was; ``key`` is its place, see ``memories``."""
    if state.get(CLASS_KEY) != type(memory).__name__:
        raise _mismatch(key, memory, str(state.get(CLASS_KEY)))
    records = shelf(memory.agent.unique_id, state.get("layer", memory.layer))
    memory.restore(decode_snapshot(state, records), records)


def _mismatch(key: str, memory: Any, kept: str) -> MemoryMismatch:
    agent, _, place = key.partition(".")
    return MemoryMismatch(
        f"the run has {kept:.60} for agent {agent} (agent.{place or 'memory'}), and the "
        f"new model makes {type(memory).__name__}. Make the same class as before: in "
        "the model's __init__, with the parameters of the run, or, if the agent was "
        "given another memory in the middle of the run, in the model's set_state()."
    )
