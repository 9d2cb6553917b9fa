"""Everything of a run that a report shows, read once with the functions of the dashboard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.runs import Run
from mesa_memory.runs.claims.claim import Verdict
from mesa_memory.runs.past import Past, Row, past
from mesa_memory.viz.data import spread
from mesa_memory.viz.data.activity import Activity, activity
from mesa_memory.viz.data.colouring import Colouring, colour_keys, coloured, of_text
from mesa_memory.viz.data.decisions import Piece, decided, memory_lines
from mesa_memory.viz.data.recall import RecordedRecall, recalls, understood
from mesa_memory.viz.data.said import SpokenMessage, said
from mesa_memory.viz.data.scene import Scene, scene

#: number of agents whose memory is shown if none are named
MAX_PEOPLE = 6


@dataclass(frozen=True)
class Person:
    """An agent whose memory is in the report.

    Attributes:
        agent: its unique id.
        memory: class of its memory.
        past: every record it ever had.
        recalls: in order.
        decisions: rows of ``Run.decisions``, each with the lines of memory in it.
    """

    agent: Any
    memory: str
    past: Past
    recalls: list[RecordedRecall]
    decisions: list[tuple[Row, list[Piece]]]


@dataclass(frozen=True)
class Contents:
    """The contents of a report.

    Attributes:
        names: names of the agents that have one.
        messages: of each step.
        measures: the values that have curves and colours.
        sentences: that were counted for the text; see ``spread.listed``.
        people: those whose memory is shown.
        decided: the decisions of all agents.
    """

    scene: Scene
    names: dict[Any, str]
    messages: list[list[SpokenMessage]]
    measures: list[Colouring]
    sentences: list[dict[str, Any]]
    people: list[Person]
    decided: list[Row]


def contents(
    run: Run, agents: Sequence[Any] | None = None, about: str = ""
) -> Contents:
    """Reads a run.

    Args:
        agents: unique ids or names of those whose memory is shown; None takes the first
            who held the text, then the most active ones.
        about: see ``write_report``.

    Raises:
        ValueError: for an unknown agent; lists some that exist. For a text without words.
    """
    counted, seen = activity(run), scene(run)
    held, measures, sentences = _spread(run, about.strip())
    colours = {key: coloured(key, seen, lambda: counted) for key in colour_keys(seen)}
    measures += [
        one
        for key, one in colours.items()
        if key.startswith("outcome:") or np.nan_to_num(one.values).any()
    ]
    memories = {row["agent"]: row["memory"] for row in run.agents(as_records=True)}
    if agents is None:
        chosen = _most_active(counted, held)
    else:
        known = run.unique_ids
        chosen = list(dict.fromkeys(known[run.name_of(agent)] for agent in agents))
    people = [_person(run, agent, str(memories.get(agent, ""))) for agent in chosen]
    messages = said(run, 0, len(run.steps))
    found = seen, run.names, messages, measures, sentences, people
    return Contents(*found, decided(run))


def _spread(
    run: Run, text: str
) -> tuple[spread.HoldingCounts | None, list[Colouring], list[dict[str, Any]]]:
    """The holders of a text, the curves of it and of its denial, and its sentences."""
    if not text:
        return None, [], []
    found = spread.found(run, text)
    held = spread.holding(found)
    denied = spread.holding(found, Verdict.DENIES)
    measures = [of_text(held, text)]
    if denied.counts.any():
        measures.append(of_text(denied, f"denial of: {text}", "denies"))
    rows = spread.listed(found, run.steps[-1])
    return held, measures, [row for row in rows if row["counts"]]


def _most_active(counted: Activity, held: spread.HoldingCounts | None) -> list[Any]:
    """Half of them the first holders of the text, then those with the most events."""
    busy = (counted["events"] + counted["made"] + counted["recalls"]).sum(axis=1)
    early = [n for n in held.order if held.counts[n].any()] if held else []
    order = [*early[: MAX_PEOPLE // 2], *np.argsort(-busy, kind="stable").tolist()]
    return [counted.agents[n] for n in dict.fromkeys(order)][:MAX_PEOPLE]


def _person(run: Run, agent: Any, memory: str) -> Person:
    remembered = past(run, agent)
    found = [understood(row, remembered) for row in recalls(run, agent)]
    rows = run.decisions(agent, as_records=True)
    decided = [(row, memory_lines(row)) for row in rows]
    return Person(agent, memory, remembered, found, decided)
