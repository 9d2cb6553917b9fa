"""What of a layer stands in the prompt of the step under way, and what it recalled."""

from collections.abc import Sequence
from dataclasses import replace

from mesa_memory.memories.facts import Facts
from mesa_memory.memories.layer import Layer
from mesa_memory.memories.lines import Line, of_entry
from mesa_memory.memories.recalling import RecallResult, Recollection
from mesa_memory.memories.recalls import Recalls
from mesa_memory.memories.stream import EventStream

#: lines of a layer, and what was recalled for them, if anything
type Found = tuple[Sequence[Line], RecallResult | None]


def mind_of(layer: Layer) -> Recollection | None:
    """What ranks the records of a layer; None if it does not recall."""
    if isinstance(layer, EventStream):
        return layer.recollection
    return layer.lines.recollection if isinstance(layer, Facts) else None


def connected(layer: Layer, recalls: Recalls) -> Recalls:
    """Lets a layer embed its queries as its memory does."""
    if isinstance(layer, Facts):
        layer.lines.vector_of = recalls.vector_of
    return recalls


def has_section(layer: Layer) -> bool:
    """True if a layer shows more than recent steps."""
    return isinstance(layer, EventStream) or type(layer).summary is not Layer.summary


def lines_of(layer: Layer, recalls: Recalls | None) -> Found:
    """What a layer shows beyond recent steps; of a stream, what comes to mind."""
    if isinstance(layer, EventStream) and recalls is not None:
        return _recalled(layer, recalls)
    return layer.summary(), None


def _recalled(stream: EventStream, recalls: Recalls) -> Found:
    """The events that come to mind, oldest first, with their score as rank."""
    index = stream.index
    index.refresh()
    listed = [event for entry in stream.ungraded() for event in entry.events]
    found = stream.recollection.find(None, None, recalls.vector_of, without=listed)
    scores = {each.record.id: each.score for each in found.records}
    lines = [
        replace(line, rank=scores[key])
        for key, entry in index.entry_of.items()
        if key in scores
        for line in of_entry(entry, stream.context.event_chars)
    ]
    return lines, found
