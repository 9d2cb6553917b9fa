"""The selected agent: events, recall, conclusions and words."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import solara

from mesa_memory.core.content import shorten
from mesa_memory.core.records import DERIVED, REFUSED
from mesa_memory.runs.past import Row, text_of
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import decisions
from mesa_memory.viz.data import recall as recalling
from mesa_memory.viz.serving.portions import use_portions
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import person as drawn
from mesa_memory.viz.widgets.person import PersonLine, PersonPart

READ = "It read its memory; no record of it stands in the text word for word."
NOT_READ = "It did not read its memory in this step."
#: longest record that is shown, in characters
RECORD_CHARS = 240
#: kinds of events that the agent itself did
OWN_KINDS = ("action", "plan", "plan_execution")


@solara.component
def Person(focus: Focus) -> Any:
    """One agent in one step; read after the picture has been drawn."""
    source, agent = focus.source, focus.agent
    place = source.steps.index(focus.step)
    version = f"{source.key} {agent}"
    now, need = use_portions(version, place, len(source.steps), at_once=False)
    known = solara.use_memo(dict[int, list[PersonPart]], [version])
    pages = solara.use_memo(lambda: _pages(focus, now, known), [version, tuple(now)])

    def pick(at: dict[str, int]) -> None:
        known[at["place"]][at["part"]].lines[at["line"]].on_click()

    drawn.PersonPages(
        version=version,
        called=focus.title,
        begin=solara.use_ref(place).current,
        count=len(source.steps),
        pages=pages,
        most=drawn.FIRST_LINES,
        event_need=need,
        event_pick=pick,
        event_all=lambda at: _way(replace(focus, step=source.steps[at]), "agent")(),
    )


def _pages(focus: Focus, now: list[range], known: dict[int, list[PersonPart]]) -> str:
    """The agent in some steps, as JSON; ``known`` keeps what a click does."""
    found = []
    for place in (n for some in now for n in some):
        at = replace(focus, step=focus.source.steps[place])
        known[place] = parts(at)
        found.append({"place": place, "step": at.at, "parts": known[place]})
    return json.dumps(found, default=drawn.sent)


def parts(at: Focus) -> list[PersonPart]:
    """One agent in one step, each part in the order of its records."""
    opened = at.past.opened(at.previous, at.step)
    closed = at.past.closed(at.previous, at.step)
    events = [row for row in opened if row["origin"] != DERIVED]
    ended = Counter(row["closed_because"] or "ended" for row in closed)
    recalls = recalling.recalls(at.source.run, at.agent, at.step)
    gone = ", ".join(f"{count} {why}" for why, count in ended.items())
    return [
        PersonPart(
            "Saw and heard",
            [_event(at, row) for row in events if not _is_own(row, at.agent)],
            "No event reached it in this step.",
            "Shows the agents that remember this",
        ),
        _recalled(at, recalls) or _read(at, bool(recalls)),
        *_decisions(at),
        PersonPart(
            "Its memory made",
            [_conclusion(at, row) for row in opened if row["origin"] == DERIVED],
            "No summary, reflection or impression in this step.",
            "Shows its evidence",
            f"No longer remembered: {gone}." if gone else "",
        ),
        PersonPart(
            "Said and did",
            [_event(at, row) for row in events if _is_own(row, at.agent)],
            "It said and did nothing in this step.",
            "Shows the agents that remember this",
        ),
    ]


def _is_own(row: Row, agent: Any) -> bool:
    if row["kind"] == "message":
        return str(row["content"].get("sender")) == str(agent)
    return row["kind"] in OWN_KINDS


def _event(at: Focus, row: Row) -> PersonLine:
    return PersonLine(text_of(row), partial(_explain, at, row))


def _recalled(at: Focus, rows: list[Row]) -> PersonPart | None:
    """The best records of a recall, for a prompt if there is one; None without any."""
    for row in [row for row in rows if row["purpose"] == "prompt"] or rows:
        recall = recalling.understood(row, at.past)
        lines = [
            PersonLine(
                shorten(one.text, RECORD_CHARS),
                _way(at, "recall"),
                note=recalling.reason(recall, one, times)
                + "; no room in the prompt" * (not one.shown),
                faint=not one.shown,
            )
            for one, times in recalling.best(recall, recalling.FIRST_CANDIDATES)
        ]
        if lines:
            title = f"Recalled ({len(lines)} of {len(recall.candidates)})"
            return PersonPart(title, lines, "", "Shows it all in the view Recall")
    return None


def _read(at: Focus, recalled: bool) -> PersonPart:
    """A memory that does not rank is read as it is: the newest records in the text."""
    shown = memories.shown(at.source.run, at.agent, at.step)
    texts = _bare(row["text"] or "" for row in shown)
    held = {
        text: row["layer"]
        for row in reversed(at.past.rows)
        if row["valid_from"] <= at.step
        and (row["valid_to"] is None or row["valid_to"] > at.previous)
        and (text := _bare([text_of(row)]))
        and text in texts
    }
    go = _way(at, "agent")
    lines = [
        PersonLine(shorten(text, RECORD_CHARS), go, note=f"in its {layer} memory")
        for text, layer in islice(held.items(), recalling.FIRST_CANDIDATES)
    ]
    count = f" ({len(lines)} of {len(held)})" if lines else ""
    empty = READ if shown or recalled else NOT_READ
    return PersonPart(f"Read{count}", lines, empty, "Shows it all in the view Agent")


def _bare(texts: Iterable[str]) -> str:
    """Texts without line breaks."""
    return " ".join(" ".join(texts).split())


def _way(at: Focus, view: str) -> Any:
    """Shows the agent at the step in another view."""
    return partial(at.selection.choose, view=view, agent=at.agent, step=at.step)


def _decisions(at: Focus) -> list[PersonPart]:
    """The part of its own requests; none in a step without them."""
    lines = [
        PersonLine(decisions.answer(one), _way(at, "agent"), head=_head(at, one))
        for one in decisions.decisions(at.source.run, at.agent, at.step)
    ]
    goes = "Shows question, memory and answer"
    return [PersonPart("Its decisions", lines, "", goes)] if lines else []


def _head(at: Focus, decision: Row) -> str:
    return f"{decisions.name_of(decision, at.past)}, {decisions.subject_of(decision)}:"


def _conclusion(at: Focus, row: Row) -> PersonLine:
    text = shorten(text_of(row), RECORD_CHARS)
    go = partial(at.to_evidence, row["id"])
    refused = " (refused)" * (row["closed_because"] == REFUSED)
    return PersonLine(text, go, head=f"{row['kind']}{refused}:")


def _explain(at: Focus, row: Row) -> None:
    """Words lead to the agents that remember them, all else to the agent's memory."""
    words = row["content"].get("message") if row["kind"] == "message" else None
    if isinstance(words, str) and words.strip():
        at.to_spread(words, at.agent, at.step)
    else:
        _way(at, "agent")()
