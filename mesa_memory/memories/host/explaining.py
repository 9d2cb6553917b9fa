"""A recall as a table to print."""

from rich.table import Table

from mesa_memory.core import render
from mesa_memory.core.events import Naming
from mesa_memory.layers.stream.recalling import RecallResult

#: the parts of every score; a scoring's own terms follow
PARTS = ("relevance", "dense", "lexical", "importance", "recency", "time_match")


def as_table(found: RecallResult, title: str, names: Naming) -> Table:
    """The recalled records, with the parts of each score, as a table for rich."""
    parts = (*PARTS, *(term.name for term in getattr(found.scoring, "terms", ())))
    table = Table(title=title, caption=found.note or None)
    for heading in ("rank", "score", *parts, "step"):
        table.add_column(heading, justify="right")
    table.add_column("event")
    for recalled in found.records:
        numbers = [recalled.score, *(recalled.parts[part] for part in parts)]
        record = recalled.record
        told = render.event_text(record.kind, record.content, 200, names)
        table.add_row(
            str(recalled.rank),
            *(f"{number:.3f}" for number in numbers),
            render.value_text(record.step),
            told.replace("[", "\\["),
        )
    return table
