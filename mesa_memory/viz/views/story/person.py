"""The selected agent as a person: what reached it, came to its mind, and was said."""

from typing import Any

import solara

from mesa_memory.core.content import shorten
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.agent import Past, Row
from mesa_memory.viz.data.story import person as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.portions import use_portions
from mesa_memory.viz.views.navigation import to_evidence, to_spread
from mesa_memory.viz.widgets.person import Line, Page, Pages, Part
from mesa_memory.viz.widgets.timeline import number

#: places of the parts
HEARD, MINDED, MADE, DONE = range(4)


@solara.component
def Person(source: Source, selection: Selection, agent: Any, place: int) -> Any:
    """One agent in one step; read after the picture has been drawn."""
    version = f"{source.key} {agent}"
    count = len(source.steps)
    now, need = use_portions(version, place, count, at_once=False)
    pages = solara.use_memo(lambda: _pages(source, agent, now), [version, tuple(now)])

    def line(at: int, part: int, n: int) -> None:
        _lead(source, selection, agent, at, part, n)

    def everything(at: int) -> None:
        selection.choose(view="agent", agent=agent, step=source.steps[at])

    Pages(
        version=version,
        called=source.title(agent),
        pages=pages,
        begin=solara.use_ref(place).current,
        count=count,
        on_need=need,
        on_line=line,
        on_all=everything,
    )


def _pages(source: Source, agent: Any, now: list[range]) -> list[Page]:
    """The agent in some steps."""
    if not now:
        return []
    past, found = source.of(memories.past, agent), []
    for some in now:
        steps = source.steps[some.start : some.stop]
        for place, step in zip(some, steps):
            mind = data.mind(source.run, agent, step, past)
            parts = _parts(source, past, agent, step, mind)
            found.append(Page(place, number(step), parts))
    return found


def _parts(
    source: Source, past: Past, agent: Any, step: float, mind: data.Mind
) -> list[Part]:
    steps = source.steps
    heard = data.heard(past, steps, step, agent)
    done = data.done(past, steps, step, agent)
    ended = data.ended(past, steps, step)
    gone = ", ".join(f"{count} {why}" for why, count in ended.items())
    of_all = f"Came to mind ({len(mind.thoughts)} of {mind.count})"
    return [
        Part(
            "Saw and heard",
            [Line(data.told(row, agent)) for row in heard],
            "Nothing reached it in this step.",
            "Shows who else remembers this",
        ),
        Part(
            of_all if mind.thoughts else "Came to mind",
            [Line(t.text, note=_why(t), faint=not t.shown) for t in mind.thoughts],
            "It did not read its memory in this step.",
            f"Shows it all in the view {'Recall' if mind.ranked else 'Agent'}",
        ),
        Part(
            "Its memory made of it",
            [
                Line(_brief(row), head=f"{row['kind']}:")
                for row in data.made(past, steps, step)
            ],
            "No summary, reflection or impression in this step.",
            "Shows what it rests on",
            f"Let go of: {gone}." if gone else "",
        ),
        Part(
            "Said and did",
            [Line(data.told(row, agent), head=_to(source, row)) for row in done],
            "It said and did nothing in this step.",
            "Shows who remembers this",
        ),
    ]


def _lead(
    source: Source, selection: Selection, agent: Any, at: int, part: int, n: int
) -> None:
    """Goes to the view that explains a line."""
    past, steps, step = source.of(memories.past, agent), source.steps, source.steps[at]
    if part == MINDED:
        mind = data.mind(source.run, agent, step, past)
        view = "recall" if mind.ranked else "agent"
        selection.choose(view=view, agent=agent, step=step)
    elif part == MADE:
        to_evidence(selection, data.made(past, steps, step)[n]["id"], agent)
    else:
        read = data.heard if part == HEARD else data.done
        _explain(selection, read(past, steps, step, agent)[n], agent, step)


def _why(thought: data.Thought) -> str:
    return (
        thought.reason if thought.shown else f"{thought.reason}; no room in the prompt"
    )


def _brief(row: Row) -> str:
    return shorten(memories.text_of(row), data.THOUGHT_CHARS)


def _to(source: Source, row: Row) -> str:
    """Whom words were said to, as far as the record says."""
    content = row["content"] if isinstance(row["content"], dict) else {}
    given = content.get("recipients") if row["kind"] == "message" else None
    several = given if isinstance(given, list) else []
    names = [source.title(one) for one in several if isinstance(one, int | str)]
    return f"to {', '.join(names)}:" if names else ""


def _explain(selection: Selection, row: Row, agent: Any, step: float) -> None:
    """Words lead to who else remembers them, all else to the agent's memory."""
    content = row["content"] if isinstance(row["content"], dict) else {}
    words = content.get("message") if row["kind"] == "message" else None
    if isinstance(words, str) and words.strip():
        to_spread(selection, words, agent, step)
    else:
        selection.choose(view="agent", agent=agent, step=step)
