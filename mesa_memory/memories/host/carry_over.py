"""Layers that go on in a memory as they ended in a recorded run.

The steps of the other run become steps before this one: its last one is now. Records are
copied under new ids, so that nothing here depends on where they came from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mesa_memory.core.records import DERIVED, EVICTED, IMPORTED, MemoryRecord
from mesa_memory.core.snapshot import (
    FilteredRecords,
    InMemoryRecords,
    RecordLookup,
    decode,
)
from mesa_memory.core.snapshot import held as held_in
from mesa_memory.errors import MemoryMismatch
from mesa_memory.layers.base import Layer
from mesa_memory.layers.declared_state import held_by, layer_snapshot, restore_layer
from mesa_memory.memories.host.interventions import changed_by_hand, copy_of
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.state import may_be_of

#: name of the intervention
CARRY_OVER = "carry_over"
#: what of a record's content is a step, by its kind, if a memory made it
STEPS_IN = {
    "fact": ("since", "last"),
    "chapter": ("began", "ended"),
    "conversation": ("began", "ended"),
}


@dataclass(frozen=True)
class PastMemory:
    """A memory as it was at the end of a recorded step.

    Attributes:
        source: what its records are called here begins with this.
        parts: the states of its layers, by name, encoded.
        records: its records.
        step: when.
        told: what the record of this run says of it.
        own: whether it is a former memory of the same agent in the same run.
    """

    source: str
    parts: Mapping[str, Any]
    records: RecordLookup
    step: float
    told: Mapping[str, Any]
    own: bool = False

    def name_of(self, record: MemoryRecord) -> str:
        """The id in this run for a record of that run."""
        return record.id if self.own else f"{self.source}:{record.id}"


def take_over(
    memory: MemoryModule, past: PastMemory, names: Sequence[str] | None
) -> list[MemoryRecord]:
    """Lets layers of a memory go on as those of the same name ended.

    Args:
        names: of the layers; None is all that both have.

    Returns:
        The copies, oldest first.

    Raises:
        ValueError: if a layer is missing, or holds something already; nothing has
            changed then.
        MemoryMismatch: if a layer of that name is of another kind; likewise.
    """
    layers = _chosen(memory, past, names)
    _check_empty(memory, layers)
    with changed_by_hand(memory, CARRY_OVER) as detail:
        copies = go_on(memory, past, layers)
        records = {copy.id: old for old, copy in copies.items()}
        detail |= dict(past.told, layers=[n.name for n in layers], records=records)
    return list(copies.values())


def go_on(
    memory: MemoryModule, past: PastMemory, layers: Sequence[Layer]
) -> dict[str, MemoryRecord]:
    """Lets empty layers go on as those of the same name ended; copies by old id.

    Raises:
        MemoryMismatch: if a layer of that name is of another kind; nothing has changed.
    """
    empty = {layer.name: layer_snapshot(layer) for layer in layers}
    try:
        found = [_held(layer, past) for layer in layers]
        copies = _copied(memory, past, layers, found)
        for layer, own in zip(layers, found, strict=True):
            _put(layer, own, copies, memory.layer_context.now - past.step)
        said = [copy for copy in copies.values() if copy.kind == "message"]
        memory.layer_context.history.extend(said)  # as a resumed run finds them
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        for layer in layers:
            restore_layer(layer, empty[layer.name], InMemoryRecords({}))
        memory.layer_context.close_dropped()
        raise MemoryMismatch(
            f"{', '.join(layer.name for layer in layers)} of {past.source} cannot "
            f"continue in {type(memory).__name__} ({type(error).__name__}: "
            f"{error!s:.80}). Carry over into a memory whose layers are of the same "
            "classes, made with the same arguments."
        ) from error
    return copies


def _chosen(
    memory: MemoryModule, past: PastMemory, names: Sequence[str] | None
) -> list[Layer]:
    """The layers that are meant, in the order of the memory."""
    here = {layer.name: layer for layer in memory.layers}
    both = [name for name in here if name in past.parts]
    wanted = both if names is None else list(dict.fromkeys(names))
    lacking = [name for name in wanted if name not in both]
    if lacking or not wanted:
        what = ", ".join(map(repr, lacking)) or "nothing"
        raise ValueError(
            f"{what} can be carried over: {past.source} has the layers "
            f"{', '.join(past.parts) or 'none'}, the memory of agent "
            f"{memory.agent.unique_id} has {', '.join(here) or 'none'}; name layers "
            "that both have"
        )
    return [layer for name, layer in here.items() if name in wanted]


def _check_empty(memory: MemoryModule, layers: Iterable[Layer]) -> None:
    memory.settle()
    full = [layer.name for layer in layers if any(True for _ in held_by(layer))]
    if full:
        raise ValueError(
            f"{', '.join(full)} of agent {memory.agent.unique_id} holds something "
            "already: carry over before the agent's first step, into a new memory"
        )


@dataclass(frozen=True)
class _LayerState:
    """The state of a layer of the past, encoded, and the records in it."""

    state: Any
    records: Mapping[str, MemoryRecord]


def _held(layer: Layer, past: PastMemory) -> _LayerState:
    """The layer itself finds its records."""
    part = past.parts[layer.name]
    state = decode(part, past.records)
    own = FilteredRecords(past.records, partial(may_be_of, layer.name))
    restore_layer(layer, state, own)
    known = [*held_in(state), *held_by(layer)]
    return _LayerState(part, {record.id: record for record in known})


def _copied(
    memory: MemoryModule,
    past: PastMemory,
    layers: Sequence[Layer],
    found: Sequence[_LayerState],
) -> dict[str, MemoryRecord]:
    """A copy of each record in this memory, by its old id, oldest first."""
    owners = {key: layer for layer, own in zip(layers, found) for key in own.records}
    every = {key: record for own in found for key, record in own.records.items()}
    later = memory.layer_context.now - past.step
    copies: dict[str, MemoryRecord] = {}
    for old in sorted(every.values(), key=lambda record: record.order):
        made = old.origin == DERIVED
        copies[old.id] = copy = copy_of(
            memory,
            old,
            _content(old, later),
            (past.name_of(old), *(copies[s].id for s in old.sources if s in copies)),
            old.origin if made or past.own else IMPORTED,
            later,
            owners[old.id].part if made else None,
        )
        if not old.current:  # what is still due of it is known all the same
            memory.layer_context.close(copy, EVICTED)
    return copies


def _content(record: MemoryRecord, later: float) -> Any:
    """A record's content with its steps moved."""
    steps = (
        () if record.origin not in (DERIVED, IMPORTED) else STEPS_IN.get(record.kind)
    )
    if not steps or not isinstance(record.content, dict):
        return record.content
    moved = {
        name: value + later
        for name in steps
        if isinstance(value := record.content.get(name), int | float)
    }
    return {**record.content, **moved}


def _put(
    layer: Layer, own: _LayerState, copies: Mapping[str, MemoryRecord], later: float
) -> None:
    """Lets a layer go on with the copies."""
    shelf = _OfLayer(copies, own.records)
    new = {old: copies[old].id for old in own.records}
    state = layer.moved(decode(_renamed(own.state, new), shelf), later)
    restore_layer(layer, state, shelf)


def _renamed(state: Any, names: Mapping[str, str]) -> Any:
    """A state in which ids stand as keys or as texts of their own, with the new ones."""
    if isinstance(state, list):
        return [_renamed(item, names) for item in state]
    if not isinstance(state, dict):
        return names.get(state, state) if isinstance(state, str) else state
    if len(state) == 1 and "$record" in state:
        return state
    return {names.get(k, k): _renamed(v, names) for k, v in state.items()}


class _OfLayer(InMemoryRecords):
    """The copies of one layer's records; the layer may name those of others."""

    def __init__(
        self, copies: Mapping[str, MemoryRecord], own: Mapping[str, MemoryRecord]
    ) -> None:
        super().__init__({key: copies[key] for key in own})
        self._all = copies

    def __getitem__(self, key: str) -> MemoryRecord:
        """See ``RecordLookup``."""
        return self._all[key]
