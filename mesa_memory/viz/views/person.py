"""The selected agent: events, recall, conclusions and words."""

from dataclasses import replace
from functools import partial
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import shorten
from mesa_memory.core.records import REFUSED
from mesa_memory.runs.past import Row
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import decisions
from mesa_memory.viz.data import person as data
from mesa_memory.viz.serving.portions import use_portions
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets.person import (
    PersonLine,
    PersonPages,
    PersonPart,
    PersonStep,
)

READ = "It read its memory; no record of it stands in the text word for word."
NOT_READ = "It did not read its memory in this step."


@solara.component
def Person(focus: Focus) -> Any:
    """One agent in one step; read after the picture has been drawn."""
    source, agent = focus.source, focus.agent
    place = source.steps.index(focus.step)
    version = f"{source.key} {agent}"
    now, need = use_portions(version, place, len(source.steps), at_once=False)
    pages = solara.use_memo(lambda: _pages(focus, now), [version, tuple(now)])
    PersonPages(
        version=version,
        called=focus.title,
        pages=pages,
        begin=solara.use_ref(place).current,
        count=len(source.steps),
        on_need=need,
        on_all=lambda at: focus.selection.choose(
            view="agent", agent=agent, step=source.steps[at]
        ),
    )


def _pages(focus: Focus, now: list[range]) -> list[PersonStep]:
    """The agent in some steps."""
    found = []
    for some in now:
        steps = focus.source.steps[some.start : some.stop]
        for place, step in zip(some, steps):
            at = replace(focus, step=step)
            found.append(PersonStep(place, ui.number(step), _parts(at)))
    return found


def _parts(at: Focus) -> list[PersonPart]:
    past, after, step = at.past, at.previous, at.step
    mind = data.mind(at.source.run, at.agent, after, step, past)
    now = data.agent_step(past, at.agent, after, step)
    count = f" ({len(mind.thoughts)} of {mind.count})" if mind.thoughts else ""
    gone = ", ".join(f"{count} {why}" for why, count in now.ended.items())
    return [
        PersonPart(
            "Saw and heard",
            [_event(at, row) for row in now.heard],
            "No event reached it in this step.",
            "Shows the agents that remember this",
        ),
        PersonPart(
            f"{'Recalled' if mind.ranked else 'Read'}{count}",
            [_thought(at, mind, thought) for thought in mind.thoughts],
            READ if mind.read else NOT_READ,
            f"Shows it all in the view {_view(mind).title()}",
        ),
        *_decisions(at),
        PersonPart(
            "Its memory made",
            [_conclusion(at, row) for row in now.made],
            "No summary, reflection or impression in this step.",
            "Shows its evidence",
            f"No longer remembered: {gone}." if gone else "",
        ),
        PersonPart(
            "Said and did",
            [_event(at, row) for row in now.done],
            "It said and did nothing in this step.",
            "Shows the agents that remember this",
        ),
    ]


def _event(at: Focus, row: Row) -> PersonLine:
    return PersonLine(memories.text_of(row), partial(_explain, at, row))


def _view(mind: data.Mind) -> str:
    return "recall" if mind.ranked else "agent"


def _thought(at: Focus, mind: data.Mind, thought: data.Thought) -> PersonLine:
    choose = at.selection.choose
    go = partial(choose, view=_view(mind), agent=at.agent, step=at.step)
    why = thought.reason + "; no room in the prompt" * (not thought.shown)
    return PersonLine(thought.text, go, note=why, faint=not thought.shown)


def _decisions(at: Focus) -> list[PersonPart]:
    """The part of its own requests; none in a step without them."""
    go = partial(at.selection.choose, view="agent", agent=at.agent, step=at.step)
    lines = [
        PersonLine(decisions.answer(one), go, head=f"{one['purpose']}:")
        for one in decisions.decisions(at.source.run, at.agent, at.step)
    ]
    goes = "Shows question, memory and answer"
    return [PersonPart("Its decisions", lines, "", goes)] if lines else []


def _conclusion(at: Focus, row: Row) -> PersonLine:
    text = shorten(memories.text_of(row), data.THOUGHT_CHARS)
    go = partial(at.to_evidence, row["id"])
    refused = " (refused)" * (row["closed_because"] == REFUSED)
    return PersonLine(text, go, head=f"{row['kind']}{refused}:")


def _explain(at: Focus, row: Row) -> None:
    """Words lead to the agents that remember them, all else to the agent's memory."""
    words = row["content"].get("message") if row["kind"] == "message" else None
    if isinstance(words, str) and words.strip():
        at.to_spread(words, at.agent, at.step)
    else:
        at.selection.choose(view="agent", agent=at.agent, step=at.step)
