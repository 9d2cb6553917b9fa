"""Chapters and the story so far, to be read from the beginning."""

from typing import Any

import solara

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import wording
from mesa_memory.viz.data.contents import chapters as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_agent, to_evidence
from mesa_memory.viz.views.nothing import NotAtThisStep
from mesa_memory.viz.widgets import Column, Fact, Plain, Section, Table
from mesa_memory.viz.widgets.passages import Mark, Passage, Passages
from mesa_memory.viz.widgets.timeline import number

VERSIONS = (
    Column("since step", number=True),
    Column("story", wide=True),
    Column("record"),
)
EVENTS = (Column("step", number=True), Column("kind"), Column("text", wide=True))


@solara.component
def StoryPage(source: Source, selection: Selection, agent: Any, step: float) -> Any:
    """What an agent tells of its life at the step."""
    past = source.of(memories.past, agent)
    told = solara.use_memo(lambda: data.told(past, step), [id(past), step])
    with solara.Column(gap="0px"):
        ChaptersOf(source, selection, told, agent, step)
        SoFar(source, selection, told, agent, step)
        with Section("Since then", hint="still word for word"):
            Table(
                EVENTS,
                [[r["step"], r["kind"], memories.text_of(r)] for r in told.since],
                file=f"agent-{agent}-step-{number(step)}-since",
                sort="step",
                down=True,
                empty="Nothing is left word for word.",
            )


@solara.component
def ChaptersOf(
    source: Source, selection: Selection, told: data.Told, agent: Any, step: float
) -> Any:
    """The recaps, oldest first."""
    chapters = told.chapters
    evidence = Mark("what it rests on", "mdi-file-tree", goes=True)
    begins = Mark("go to where it begins", "mdi-arrow-top-right", goes=True)
    texts = [
        Passage(
            one.title,
            memories.text_of(one.row),
            [evidence, *([begins] if one.began is not None else [])],
            "told",
        )
        for one in chapters
    ]

    def go(place: int, mark: int) -> None:
        one = chapters[place]
        if mark and one.began is not None:
            to_agent(source, selection, agent, one.began)
        else:
            to_evidence(selection, one.row["id"], agent)

    with Section(
        f"The life of agent {source.called(agent)}, until step {number(step)}",
        hint="recaps are never written again",
    ):
        with solara.Div(classes=["mm-row"]):
            Fact("chapters", str(len(chapters)))
            Fact("versions of the story", str(len(told.stories)))
            Fact("events word for word", str(len(told.since)))
        if chapters:
            Passages(texts, label=f"{len(chapters)} chapters, oldest first", on_go=go)
        else:
            to = data.first(source.of(memories.past, agent), data.CHAPTER)
            NotAtThisStep(
                selection,
                "No chapter is complete yet at this step.",
                "mdi-book-open-outline",
                to,
                "where the first is complete",
            )


@solara.component
def SoFar(
    source: Source, selection: Selection, told: data.Told, agent: Any, step: float
) -> Any:
    """The story of now, what changed in it, and how it was told before."""
    marked = solara.use_reactive(True)
    with Section(
        "The story so far", hint="merged from what is no longer word for word"
    ):
        if not told.stories:
            to = data.first(source.of(memories.past, agent), data.STORY)
            NotAtThisStep(
                selection,
                "There is no story yet: all that happened is still word for word.",
                "mdi-script-text-outline",
                to,
                "where the story begins",
            )
            return
        now, *before = reversed(told.stories)
        text = now["text"] or ""
        if before:
            solara.Checkbox(
                label="Mark what changed since the version of step "
                f"{number(before[0]['valid_from'])}",
                value=marked,
            )
            old = before[0]["text"] or ""
            Plain(wording.changes(old, text) if marked.value else text)
        else:
            Plain(text)
        Table(
            VERSIONS,
            [[r["valid_from"], r["text"], r["id"]] for r in reversed(told.stories)],
            file=f"agent-{agent}-stories",
            on_pick=lambda n: to_evidence(
                selection, told.stories[len(told.stories) - 1 - n]["id"], agent
            ),
            page=5,
        )
