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
    work, journal, names = memory.work, memory.journal, memory.view().names.all
    snapshot = {
        "layer": journal.layer,
        "layers": layers_of(memory.agent),
        "numbers": dict(journal.numbers),
        "staging": journal.inbox.snapshot(),
        "waiting": [(c.now, c.groups) for c in work.waiting],
        "failures": work.failures,
    }
    optional = {
        "unusable": work.unusable,
        "filtered": list(journal.filtered),
        "pinned": list(journal.pinned),
        "lived": journal.lived,
        "before": dict(journal.before),
        "leaving": [[key, *told] for key, told in journal.leaving.items()],
        "made_by": journal.made_by,
        "parts": {layer.name: layer_snapshot(layer) for layer in memory.layers},
        "state": declared_state(memory),
        "names": names.departed(),
    }
    return snapshot | {name: value for name, value in optional.items() if value}


def restore_memory(
    memory: Any, snapshot: Mapping[str, Any], shelf: RecordLookup
) -> None:
    """See ``MemoryModule``; its queue must be a new one."""
    work, journal, names = memory.work, memory.journal, memory.view().names.all
    journal.layer = snapshot["layer"]
    set_layers(memory.agent, snapshot["layers"])
    journal.numbers.clear()
    journal.numbers.update(snapshot["numbers"])
    journal.inbox.restore(snapshot["staging"])
    work.failures = snapshot["failures"]
    work.unusable = snapshot.get("unusable", 0)
    journal.lived = snapshot.get("lived", 0)
    journal.made_by = snapshot.get("made_by")
    journal.filtered = dict.fromkeys(snapshot.get("filtered", ()))
    journal.pinned = list(snapshot.get("pinned", ()))
    journal.leaving = {key: (why, at) for key, why, at in snapshot.get("leaving", ())}
    names.remember(snapshot.get("names", ()))
    for now, groups in snapshot["waiting"]:
        place = memory.services.bus.next_order()
        work.put(Commit(now, [(step, events) for step, events in groups], place))
    journal.before = dict(snapshot.get("before", {}))
    shelf = records_after(shelf, journal.before)
    newest = shelf.of_kind("message", last=journal.history_capacity)
    journal.history.clear()
    journal.history.extend(newest)
    journal.adopt(shelf.current(), partial(look_up, shelf))
    parts = snapshot.get("parts", {})
    for layer in memory.layers:
        own = FilteredRecords(shelf, partial(may_be_of, layer.name))
        restore_layer(layer, parts[layer.name], own)
    take_up(memory, snapshot.get("state", {}))


def may_be_of(layer: str, record: MemoryRecord) -> bool:
    """True for an event, and for a record made by this layer."""
    return record.part is None or record.part.name == layer
