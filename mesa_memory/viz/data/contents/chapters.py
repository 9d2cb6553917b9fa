"""An agent's life as its memory tells it: chapters, and the story so far."""

from dataclasses import dataclass
from typing import Any

from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data.agent import Past, Row

#: kinds of records
CHAPTER, STORY = "chapter", "story"


@dataclass(frozen=True)
class Chapter:
    """A recap.

    Attributes:
        title: its number, and from when to when.
        began: its first step; None if the record does not say.
    """

    row: Row
    title: str
    began: float | None


@dataclass(frozen=True)
class Told:
    """What a memory tells at the end of a step.

    Attributes:
        chapters: oldest first.
        stories: every version of the story so far, oldest first; the last is of now.
        since: the events that are in neither, oldest first.
    """

    chapters: list[Chapter]
    stories: list[Row]
    since: list[Row]


def told(past: Past, step: float) -> Told:
    """The story of an agent at the end of a step."""
    known = past.at(step)
    chapters = [_chapter(row) for row in known if _made(row, CHAPTER)]
    versions = [r for r in past.rows if _made(r, STORY) and r["valid_from"] <= step]
    events = [row for row in known if row["origin"] != DERIVED]
    chapters.sort(key=lambda one: (one.row["step"], one.row["seq"]))
    return Told(chapters, versions, events)


def first(past: Past, kind: str) -> float | None:
    """The step from which on there was a ``CHAPTER`` or a ``STORY``; None if never."""
    made = (row["valid_from"] for row in past.rows if _made(row, kind))
    return min(made, default=None)


def _chapter(row: Row) -> Chapter:
    content: dict[str, Any] = row["content"] if isinstance(row["content"], dict) else {}
    count, began, ended = (
        _number(content.get(k)) for k in ("number", "began", "ended")
    )
    name = "Chapter" if count is None else f"Chapter {count:g}"
    if began is None or ended is None:
        return Chapter(row, name, began)
    when = f"step {began:g}" if began == ended else f"steps {began:g} to {ended:g}"
    return Chapter(row, f"{name}, {when}", began)


def _number(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if usable else None


def _made(row: Row, kind: str) -> bool:
    return row["kind"] == kind and row["origin"] == DERIVED
