"""Layers as sections of one prompt."""

from collections.abc import Sequence
from dataclasses import replace

from mesa_memory.layers.base import Layer
from mesa_memory.layers.conversations import Conversations
from mesa_memory.layers.facts.layer import Facts
from mesa_memory.layers.lines import Line, of_entry
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.recalling import RecallResult, Recollection

#: lines of a layer, and what was recalled for them, if anything
type Found = tuple[Sequence[Line], RecallResult | None]


def recollection_of(layer: Layer) -> Recollection | None:
    """The ranker of a layer's records; None if it does not recall."""
    if isinstance(layer, EventStream | Conversations):
        return layer.recollection
    return layer.lines.recollection if isinstance(layer, Facts) else None


def has_section(layer: Layer) -> bool:
    """True if a layer shows more than recent steps."""
    return isinstance(layer, EventStream) or type(layer).summary is not Layer.summary


def lines_of(layer: Layer) -> Found:
    """The lines of a layer beyond recent steps; of a stream, the recalled events."""
    if isinstance(layer, EventStream):
        return _recalled(layer)
    if isinstance(layer, Conversations):
        return _called_for(layer)
    return layer.summary(), None


def recent_turns(layers: Sequence[Layer]) -> list[Line]:
    """The newest turns of conversations that are not summarised, by age."""
    talks = (layer for layer in layers if isinstance(layer, Conversations))
    turns = [turn for layer in talks for turn in layer.recent()]
    return sorted(turns, key=lambda turn: turn.records[0].order)


def _called_for(layer: Conversations) -> Found:
    """The summaries recalled for the dialogue, and then the newest."""
    found = layer.bring_to_mind()
    records = [each.record for each in found.records] if found else []
    earlier = sorted(records, key=lambda record: record.order)
    # What the dialogue calls for stays longer than the newest.
    called = [replace(layer.told(record), rank=layer.now) for record in earlier]
    return [*called, *layer.summary()], found


def _recalled(stream: EventStream) -> Found:
    """The recalled events, oldest first, with their score as rank."""
    index, found = stream.index, stream.bring_to_mind()
    scores = {each.record.id: each.score for each in found.records}
    lines = [
        replace(line, rank=scores[index.record_of(entry).id])
        for entry in index.in_order(scores)
        for line in of_entry(entry, stream.context)
    ]
    return lines, found
