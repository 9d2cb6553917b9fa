"""A search by words in all records of a memory, for memories that cannot recall."""

from typing import Any

from mesa_memory.core import render
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.retrieval.index import RecordIndex, ScoredRecord
from mesa_memory.retrieval.scoring import Scoring

#: records given if a search does not say
FOUND = 30


def by_words(
    memory: Any,
    query: str | None,
    k: int | None = None,
    scoring: Scoring | None = None,
    **filters: Any,
) -> list[ScoredRecord]:
    """The current records of a memory that match a text best, best first.

    Args:
        memory: one of this package.
        query: None or an empty text ranks by recency and importance.
        k: at most ``k`` of them; None is 30.
        **filters: see ``RecordIndex.recall``.

    Raises:
        ValueError: if k is negative.
        TypeError: if query or scoring is of another type.
    """
    context, index = memory.layer_context, RecordIndex()
    for record in memory.current_records():
        index.add(record, text_of(record, context))
    chosen = scoring or (Scoring() if query else Scoring.without_query())
    limit = FOUND if k is None else k
    if filters.get("subject") is not None:
        filters["subject"] = context.names.unique_id(filters["subject"])
    asked = {"scoring": chosen, "now": context.now, **filters}
    return index.recall(query or None, limit, **asked)


def text_of(record: MemoryRecord, context: Any) -> str:
    """A record on one line: an event as agents are shown it, else its text."""
    if record.origin == DERIVED and isinstance(record.content.get("text"), str):
        return render.one_line(record.content["text"])
    return str(context.line(record))
