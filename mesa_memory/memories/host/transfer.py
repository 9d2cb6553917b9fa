"""Memories that go on with other records: their own, changed by hand, or copies of another's.

The snapshot of a memory refers to records by their ids. So a memory changes by the
restoring of a snapshot with other records under these ids.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mesa_memory.core.codec import decode_snapshot, encode_snapshot, rename
from mesa_memory.core.records import (
    DERIVED,
    EVICTED,
    IMPORTED,
    MemoryRecord,
    Part,
    records_in,
)
from mesa_memory.core.snapshot import FilteredRecords, InMemoryRecords, RecordLookup
from mesa_memory.errors import MemoryMismatch
from mesa_memory.layers.base import Layer
from mesa_memory.layers.declared_state import layer_snapshot, restore_layer
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.state import may_be_of

#: what of a record's content is a step, by its kind, if a memory made it
STEPS_IN = {
    "fact": ("since", "last"),
    "chapter": ("began", "ended"),
    "conversation": ("began", "ended"),
}


@dataclass(frozen=True)
class SourceMemory:
    """A memory as it was at the end of a step, from which another one goes on.

    Attributes:
        name: begins the ids of its records in another run.
        parts: the states of its layers, by name, encoded.
        records: its records.
        step: when.
        replaced: whether it is a former memory of the same agent in the same run.
    """

    name: str
    parts: Mapping[str, Any]
    records: RecordLookup
    step: float
    replaced: bool = False


def copy_layers(
    source: SourceMemory, target: MemoryModule, layers: Sequence[Layer]
) -> dict[str, MemoryRecord]:
    """Lets layers go on as those of the same name ended: copies by old id, oldest first.

    The steps of the source become steps before this one: its last one is now.

    Args:
        layers: empty layers of the target.

    Raises:
        MemoryMismatch: if a layer of that name is of another kind; nothing has changed.
    """
    empty = [encode_snapshot(layer_snapshot(layer)) for layer in layers]
    shift = target.now - source.step
    try:
        found = [_records_of(layer, source) for layer in layers]
        every = {key: record for own in found for key, record in own.items()}
        owners = {key: layer for layer, own in zip(layers, found) for key in own}
        parts = {key: owners[key].part for key in every}
        prefix = "" if source.replaced else f"{source.name}:"
        copies = copy_records(
            target, every.values(), prefix, shift, parts, source.replaced
        )
        for layer, own in zip(layers, found, strict=True):
            shelf = _CopiesOfLayer(copies, own)
            state = rename(
                source.parts[layer.name], {old: copies[old].id for old in own}
            )
            restore_layer(
                layer, layer.moved(decode_snapshot(state, shelf), shift), shelf
            )
        said = [copy for copy in copies.values() if copy.kind == "message"]
        target.journal.history.extend(said)  # as a resumed run finds them
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        nothing = InMemoryRecords({})
        for layer, state in zip(layers, empty, strict=True):
            restore_layer(layer, decode_snapshot(state, nothing), nothing)
        target.close_dropped()
        raise MemoryMismatch(
            f"{', '.join(layer.name for layer in layers)} of {source.name} cannot "
            f"continue in {type(target).__name__} ({type(error).__name__}: "
            f"{error!s:.80}). Carry over into a memory whose layers are of the same "
            "classes, made with the same arguments."
        ) from error
    return copies


def _records_of(layer: Layer, source: SourceMemory) -> dict[str, MemoryRecord]:
    """The records of a layer of the source by id; the layer itself finds them."""
    state = decode_snapshot(source.parts[layer.name], source.records)
    own = FilteredRecords(source.records, partial(may_be_of, layer.name))
    restore_layer(layer, state, own)
    return {record.id: record for record in (*records_in(state), *layer.all_records())}


class _CopiesOfLayer(InMemoryRecords):
    """The copies of one layer's records; the layer may name those of others."""

    def __init__(self, copies: Mapping[str, MemoryRecord], own: Iterable[str]) -> None:
        super().__init__({key: copies[key] for key in own})
        self._all = copies

    def __getitem__(self, key: str) -> MemoryRecord:
        """See ``RecordLookup``."""
        return self._all[key]


def copy_records(
    memory: MemoryModule,
    records: Iterable[MemoryRecord],
    prefix: str = "",
    shift: float = 0,
    parts: Mapping[str, Part | None] | None = None,
    as_own: bool = False,
) -> dict[str, MemoryRecord]:
    """Copies of records in a memory by their old ids, oldest first.

    The first source of a copy is the original; others are copies of the original's.

    Args:
        prefix: begins the ids of originals of another run.
        shift: steps that are added to those of the records; may be below 0.
        parts: the layers that hold what was made, by id; None are the records' own.
        as_own: whether an event stays one that happened to the agent.
    """
    copies: dict[str, MemoryRecord] = {}
    for old in sorted(records, key=lambda record: record.order):
        made = old.origin == DERIVED
        copies[old.id] = copy = copy_of(
            memory,
            old,
            _shifted(old, shift),
            (prefix + old.id, *(copies[s].id for s in old.sources if s in copies)),
            old.origin if made or as_own else IMPORTED,
            shift,
            parts[old.id] if parts and made else None,
        )
        if not old.current:  # what is still due of it is known all the same
            memory.journal.close(copy, memory.now, EVICTED)
    return copies


def copy_of(
    memory: MemoryModule,
    old: MemoryRecord,
    content: Any,
    sources: tuple[str, ...],
    origin: str,
    shift: float = 0,
    part: Part | None = None,
    **fields: Any,
) -> MemoryRecord:
    """A new record of this memory with the step and subject of the old one.

    Args:
        shift: steps that are added to the old record's; may be below 0.
        part: the layer that holds it; None means the old record's layer.
        fields: further ones of the record, such as ``order``.
    """
    stale, view = old.stale_since, memory.view()
    return view.open(
        old.kind,
        content,
        step=old.step + shift,
        importance=old.importance,
        subject=old.subject,
        part=part or old.part,
        sources=sources,
        origin=origin,
        valid_from=view.now,
        stale_since=None if stale is None else stale + shift,
        **fields,
    )


def _shifted(record: MemoryRecord, shift: float) -> Any:
    """A record's content with its steps moved."""
    made = record.origin in (DERIVED, IMPORTED)
    steps = STEPS_IN.get(record.kind, ()) if made and shift else ()
    if not steps or not isinstance(record.content, dict):
        return record.content
    moved = {
        name: value + shift
        for name in steps
        if isinstance(value := record.content.get(name), int | float)
    }
    return {**record.content, **moved}


def restore(
    memory: MemoryModule, state: Mapping[str, Any], records: Mapping[str, MemoryRecord]
) -> None:
    """Restores the memory from a snapshot with these records, and keeps its counters.

    Args:
        state: encoded.
        records: by the ids under which the snapshot has them.
    """
    shelf, now = InMemoryRecords(records), memory.snapshot()
    own = {name: now[name] for name in ("layer", "layers", "numbers")}
    own["before"] = now.get("before", {})
    memory.restore(decode_snapshot(state, shelf) | own, shelf)
