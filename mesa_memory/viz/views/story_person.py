"""The selected agent as a person: what reached it, came to its mind, and was said."""

from typing import Any

import solara

from mesa_memory.core.content import shorten
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import person as data
from mesa_memory.viz.data.agent import Past, Row
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.navigation import to_evidence, to_spread
from mesa_memory.viz.widgets import Section
from mesa_memory.viz.widgets.lines import Line, Lines
from mesa_memory.viz.widgets.timeline import number

#: lines of each part at first
LINES = 6


@solara.component
def Person(source: Source, selection: Selection, agent: Any, step: float) -> Any:
    """One agent in one step."""
    past = source.of(memories.past, agent)
    with Section(source.called(agent), hint=f"in step {number(step)}"):
        Heard(source, selection, past, agent, step)
        Minded(source, selection, past, agent, step)
        Made(source, selection, past, agent, step)
        Done(source, selection, past, agent, step)
        solara.Button(
            "All that it remembered",
            text=True,
            small=True,
            icon_name="mdi-account",
            on_click=lambda: selection.choose(view="agent", agent=agent, step=step),
        )


def _part(title: str, lines: list[Line], empty: str, go: Any, goes: str) -> None:
    """A part of the person: its heading and its lines, or why there are none."""
    solara.v.Html(tag="h4", children=[title])
    if lines:
        Lines(lines, label=title, on_pick=go, goes=goes, most=LINES)
    else:
        solara.v.Html(tag="p", class_="mm-hint", children=[empty])


@solara.component
def Heard(
    source: Source, selection: Selection, past: Past, agent: Any, step: float
) -> Any:
    """The events that reached it."""
    rows = data.heard(past, source.steps, step, agent)
    with solara.Div():
        _part(
            "Saw and heard",
            [Line(data.told(row, agent)) for row in rows],
            "Nothing reached it in this step.",
            lambda n: _explain(selection, rows[n], agent, step),
            "Shows who else remembers this",
        )


@solara.component
def Minded(
    source: Source, selection: Selection, past: Past, agent: Any, step: float
) -> Any:
    """What came to its mind, and why."""
    mind = source.of(data.mind, agent, step, past)
    hint = f"{len(mind.thoughts)} of {mind.count}"
    title = f"Came to mind ({hint})" if mind.thoughts else "Came to mind"
    view, goes = ("recall", "Recall") if mind.ranked else ("agent", "Agent")
    with solara.Div():
        _part(
            title,
            [Line(t.text, note=_why(t), faint=not t.shown) for t in mind.thoughts],
            "It did not read its memory in this step.",
            lambda _: selection.choose(view=view, agent=agent, step=step),
            f"Shows it all in the view {goes}",
        )


def _why(thought: data.Thought) -> str:
    return (
        thought.reason if thought.shown else f"{thought.reason}; no room in the prompt"
    )


@solara.component
def Made(
    source: Source, selection: Selection, past: Past, agent: Any, step: float
) -> Any:
    """What its memory made of what it knew."""
    rows = data.made(past, source.steps, step)
    ended = data.ended(past, source.steps, step)
    with solara.Div():
        _part(
            "Its memory made of it",
            [Line(_brief(row), head=f"{row['kind']}:") for row in rows],
            "No summary, reflection or impression in this step.",
            lambda n: to_evidence(selection, rows[n]["id"], agent),
            "Shows what it rests on",
        )
        if ended:
            gone = ", ".join(f"{count} {why}" for why, count in ended.items())
            solara.v.Html(tag="p", class_="mm-hint", children=[f"Let go of: {gone}."])


@solara.component
def Done(
    source: Source, selection: Selection, past: Past, agent: Any, step: float
) -> Any:
    """What it said and did."""
    rows = data.done(past, source.steps, step, agent)
    with solara.Div():
        _part(
            "Said and did",
            [Line(data.told(row, agent), head=_to(source, row)) for row in rows],
            "It said and did nothing in this step.",
            lambda n: _explain(selection, rows[n], agent, step),
            "Shows who remembers this",
        )


def _brief(row: Row) -> str:
    return shorten(memories.text_of(row), data.THOUGHT_CHARS)


def _to(source: Source, row: Row) -> str:
    """Whom words were said to, as far as the record says."""
    content = row["content"] if isinstance(row["content"], dict) else {}
    given = content.get("recipients") if row["kind"] == "message" else None
    several = given if isinstance(given, list) else []
    names = [source.called(one) for one in several if isinstance(one, int | str)]
    return f"to {', '.join(names)}:" if names else ""


def _explain(selection: Selection, row: Row, agent: Any, step: float) -> None:
    """Words lead to who else remembers them, all else to the agent's memory."""
    content = row["content"] if isinstance(row["content"], dict) else {}
    words = content.get("message") if row["kind"] == "message" else None
    if isinstance(words, str) and words.strip():
        to_spread(selection, words, agent, step)
    else:
        selection.choose(view="agent", agent=agent, step=step)
