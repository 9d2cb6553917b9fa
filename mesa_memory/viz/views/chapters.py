"""The chapters and the story of an agent, read from the beginning."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.records import DERIVED
from mesa_memory.runs.past import Past, Row
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.agent import number
from mesa_memory.viz.views.agent import versioned
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus

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


@solara.component
def ChaptersView(focus: Focus) -> Any:
    """The narrative memory of an agent at the step."""
    narrative = told(focus.past, focus.step)
    if not (narrative.chapters or narrative.stories):
        text = f"The memory of {focus.title} tells no story at this step."
        EmptyView(focus, "chapters", text)
        return
    parts = [ui.counted(len(narrative.chapters), "chapter")]
    parts += ["a story"] * bool(narrative.stories)
    with solara.Column(gap="0px"):
        ui.Answer(
            f"{focus.title} remembers its life in {' and '.join(parts)}, and "
            f"{ui.counted(len(narrative.since), 'event')} word for word."
        )
        Chapters(focus, narrative)
        SoFar(focus, narrative)
        columns = ui.named("step kind") | {"text": memories.text_of}
        rows, file = narrative.since, focus.file("since")
        empty = "No event is left word for word."
        with ui.Section("Since then", "still word for word"):
            ui.Table(columns, rows, file=file, sort="step", down=True, empty=empty)


def Chapters(focus: Focus, narrative: Told) -> Any:
    """The recaps, oldest first."""
    chapters = narrative.chapters
    hint = f"until step {focus.at}; recaps are never written again"
    with ui.Section(f"Life of agent {focus.name}", hint):
        if chapters:
            texts = [_passage(focus, chapter) for chapter in chapters]
            ui.Passages(texts, label=f"{len(chapters)} chapters, oldest first")
        else:
            ui.Empty("No chapter is complete yet at this step.")


def _passage(focus: Focus, chapter: Chapter) -> ui.Passage:
    evidence = partial(focus.to_evidence, chapter.row["id"])
    marks = [ui.PassageMark("evidence", "mdi-file-tree", evidence)]
    if chapter.began is not None:
        go = partial(focus.to_agent, focus.agent, chapter.began)
        marks.append(ui.PassageMark("go to its first step", "mdi-arrow-top-right", go))
    return ui.Passage(chapter.title, memories.text_of(chapter.row), marks, "told")


def SoFar(focus: Focus, narrative: Told) -> Any:
    """The current story, its changes, and its versions."""
    hint = "merged from events that are no longer verbatim"
    with ui.Section("The story so far", hint):
        if not narrative.stories:
            ui.Empty("The story has not begun: all events are still verbatim.")
            return
        newest = narrative.stories[::-1]
        before = newest[1] if len(newest) > 1 else None
        ui.Texts([versioned("", newest[0], before)])
        ui.Table(
            {"since step": "valid_from", "story": "text", "record": "id"},
            newest,
            file=f"agent-{focus.agent}-stories",
            on_pick=lambda row: focus.to_evidence(row["id"]),
            page=5,
        )
