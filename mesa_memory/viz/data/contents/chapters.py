"""An agent's life as its memory tells it: chapters, and the story so far."""

from dataclasses import dataclass

from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data.agent import Past, Row
from mesa_memory.viz.data.reading import number

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
    """The chapters and the story of a memory at the end of a step.

    Attributes:
        chapters: oldest first.
        stories: every version of the story so far, oldest first.
        since: the events that are in neither, oldest first.
    """

    chapters: list[Chapter]
    stories: list[Row]
    since: list[Row]


def told(past: Past, step: float) -> Told:
    """The story of an agent at the end of a step."""
    known = past.at(step)
    derived = [row for row in known if row["origin"] == DERIVED]
    chapters = [_chapter(row) for row in derived if row["kind"] == CHAPTER]
    events = [row for row in known if row["origin"] != DERIVED]
    chapters.sort(key=lambda one: (one.row["step"], one.row["seq"]))
    return Told(chapters, past.made(step, STORY), events)


def _chapter(row: Row) -> Chapter:
    names = ("number", "began", "ended")
    count, began, ended = (number(row["content"].get(name)) for name in names)
    name = "Chapter" if count is None else f"Chapter {count:g}"
    if began is None or ended is None:
        return Chapter(row, name, began)
    when = f"step {began:g}" if began == ended else f"steps {began:g} to {ended:g}"
    return Chapter(row, f"{name}, {when}", began)
