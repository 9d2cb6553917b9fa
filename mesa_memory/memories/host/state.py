"""The records that a memory holds, and its snapshot."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from mesa_memory.core.inbox import Commit
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.snapshot import (
    FilteredRecords,
    RecordLookup,
    look_up,
    records_after,
)
from mesa_memory.layers.declared_state import (
    declared_state,
    layer_snapshot,
    restore_layer,
    take_up,
)
from mesa_memory.memories.host.layer_names import layers_of, set_layers


def snapshot_of(memory: Any) -> dict[str, Any]:
    """See ``MemoryModule``; each layer's part stands under the layer's name."""
    context = memory.layer_context
    work, log = context.runtime.work, context.log
    snapshot = {
        "layer": log.layer,
        "layers": layers_of(memory.agent),
        "numbers": dict(log.numbers),
        "staging": context.inbox.snapshot(),
        "waiting": [(c.now, c.groups) for c in work.waiting],
        "failures": work.failures,
    }
    seldom = {
        "unusable": work.unusable,
        "filtered": list(context.filtered),
        "pinned": list(context.pinned),
        "lived": context.lived,
        "before": dict(context.before),
        "leaving": [[key, *told] for key, told in context.leaving.items()],
        "made_by": context.made_by,
        "parts": {layer.name: layer_snapshot(layer) for layer in memory.layers},
        "state": declared_state(memory),
        "names": context.all_names.departed(),
    }
    return snapshot | {name: value for name, value in seldom.items() if value}


def restore_memory(
    memory: Any, snapshot: Mapping[str, Any], shelf: RecordLookup
) -> None:
    """See ``MemoryModule``; its queue must be a new one."""
    context = memory.layer_context
    work, log = context.runtime.work, context.log
    log.layer = snapshot["layer"]
    set_layers(memory.agent, snapshot["layers"])
    log.numbers.clear()
    log.numbers.update(snapshot["numbers"])
    context.inbox.restore(snapshot["staging"])
    work.failures = snapshot["failures"]
    work.unusable = snapshot.get("unusable", 0)
    context.lived = snapshot.get("lived", 0)
    context.made_by = snapshot.get("made_by")
    context.filtered = dict.fromkeys(snapshot.get("filtered", ()))
    context.pinned = list(snapshot.get("pinned", ()))
    context.leaving = {key: (why, at) for key, why, at in snapshot.get("leaving", ())}
    context.all_names.remember(snapshot.get("names", ()))
    for now, groups in snapshot["waiting"]:
        place = context.runtime.services.bus.next_order()
        work.put(Commit(now, [(step, events) for step, events in groups], place))
    context.before = dict(snapshot.get("before", {}))
    shelf = records_after(shelf, context.before)
    newest = shelf.of_kind("message", last=context.history_capacity)
    context.history.clear()
    context.history.extend(newest)
    log.adopt(shelf.current(), partial(look_up, shelf))
    parts = snapshot.get("parts", {})
    for layer in memory.layers:
        own = FilteredRecords(shelf, partial(may_be_of, layer.name))
        restore_layer(layer, parts[layer.name], own)
    take_up(memory, snapshot.get("state", {}))


def may_be_of(layer: str, record: MemoryRecord) -> bool:
    """True for an event, and for a record made by this layer."""
    return record.part is None or record.part.name == layer
