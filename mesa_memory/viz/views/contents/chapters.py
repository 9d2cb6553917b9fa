"""The chapters and the story of an agent, read from the beginning."""

from functools import partial
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.contents import chapters as data
from mesa_memory.viz.views.agent import versioned
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.views.nothing import Elsewhere


@solara.component
def ChaptersView(focus: Focus) -> Any:
    """The narrative memory of an agent at the step."""
    past, step = focus.past, focus.step
    narrative = solara.use_memo(lambda: data.told(past, step), [id(past), step])
    if not (narrative.chapters or narrative.stories):
        text = f"The memory of {focus.title} tells no story at this step."
        Elsewhere(focus, "chapters", text)
        return
    with solara.Column(gap="0px"):
        ui.Answer(
            f"{focus.title} remembers its life in {len(narrative.chapters)} chapters and "
            f"a story, and {len(narrative.since)} events word for word."
        )
        Chapters(focus, narrative)
        SoFar(focus, narrative)
        with ui.Section("Since then", "still word for word"):
            ui.Table(
                {"step": "step", "kind": "kind", "text": memories.text_of},
                narrative.since,
                file=focus.file("since"),
                sort="step",
                down=True,
                empty="No event is left word for word.",
            )


def Chapters(focus: Focus, narrative: data.Told) -> Any:
    """The recaps, oldest first."""
    chapters = narrative.chapters
    with ui.Section(
        f"Life of agent {focus.name}",
        f"until step {ui.number(focus.step)}; recaps are never written again",
    ):
        if chapters:
            texts = [_passage(focus, chapter) for chapter in chapters]
            ui.Passages(texts, label=f"{len(chapters)} chapters, oldest first")
        else:
            ui.Empty("No chapter is complete yet at this step.")


def _passage(focus: Focus, chapter: data.Chapter) -> ui.Passage:
    selection, agent = focus.selection, focus.agent
    evidence = partial(to_evidence, selection, chapter.row["id"], agent)
    marks = [ui.PassageMark("evidence", "mdi-file-tree", evidence)]
    if chapter.began is not None:
        begin = partial(to_agent, focus.source, selection, agent, chapter.began)
        marks.append(
            ui.PassageMark("go to its first step", "mdi-arrow-top-right", begin)
        )
    return ui.Passage(chapter.title, memories.text_of(chapter.row), marks, "told")


def SoFar(focus: Focus, narrative: data.Told) -> Any:
    """The current story, its changes, and its versions."""
    with ui.Section(
        "The story so far", "merged from events that are no longer verbatim"
    ):
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
            on_pick=lambda row: to_evidence(focus.selection, row["id"], focus.agent),
            page=5,
        )
