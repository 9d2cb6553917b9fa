"""The population of a report: who is where, who told whom what, what is counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.runs import Run
from mesa_memory.viz.data.activity import activity
from mesa_memory.viz.data.story.said import said
from mesa_memory.viz.data.story.scene import scene
from mesa_memory.viz.report.measures import COUNTED, REMEMBER, Measure, measures
from mesa_memory.viz.report.stage import Stage, stage

#: measures by which an agent counts as active
_ACTIVE = tuple(name for name, *_ in COUNTED[:3])


@dataclass(frozen=True)
class Message:
    """One message of a step.

    Attributes:
        place: of the step among the finished ones, from 0.
        sender, recipients: places of agents.
        words: what was said, on one line or several.
    """

    place: int
    sender: int
    recipients: tuple[int, ...]
    words: str


@dataclass(frozen=True)
class Population:
    """Everything of a run that is about all agents.

    Attributes:
        agents: unique ids, in order.
        names: what people call those that have a name of their own.
        stage: where everybody is.
        steps: the finished steps.
        messages: in order.
        measures: what is counted.
    """

    agents: list[Any]
    names: dict[Any, str]
    stage: Stage
    steps: list[float]
    messages: list[Message]
    measures: list[Measure]


def population(run: Run, about: str = "", unlike: str = "") -> Population:
    """Reads a run.

    Args:
        about: a text; who remembers something like it becomes the first measure.
        unlike: what is more similar to this text than to ``about`` does not count.
    """
    counted, seen = activity(run), scene(run).of_memories()
    return Population(
        counted.agents,
        run.names,
        stage(seen, counted.agents),
        counted.steps,
        messages(run, counted.agents),
        measures(run, counted, seen, about, unlike),
    )


def messages(run: Run, agents: Sequence[Any]) -> list[Message]:
    """Who told what to whom in each step, in order of arrival.

    A message that several agents heard is one message with several recipients.
    """
    places = {agent: place for place, agent in enumerate(agents)}
    found: dict[tuple[int, int, str], list[int]] = {}
    for place, of_step in enumerate(said(run, 0, len(run.steps))):
        for one in of_step:
            if one.sender in places and one.recipient in places:
                key = place, places[one.sender], one.text
                found.setdefault(key, []).append(places[one.recipient])
    return [
        Message(place, sender, tuple(recipients), words)
        for (place, sender, words), recipients in found.items()
    ]


def chosen_agents(
    run: Run, everyone: Population, given: Sequence[Any] | None, most: int
) -> list[Any]:
    """The agents whose memory a report shows in full.

    Args:
        given: unique ids or names; None takes those with most to tell: first those that
            first remembered the text that is looked for, then the most active.
        most: how many are taken if none are given.

    Raises:
        ValueError: if the run has no such agent; names those it has.
    """
    if given is not None:
        named = run.unique_ids
        return list(dict.fromkeys(named[run.name_of(agent)] for agent in given))
    if not everyone.agents:
        return []
    told = {
        one.name: one.of_agents
        for one in everyone.measures
        if one.of_agents is not None
    }
    active = [told[name] for name in _ACTIVE if name in told]
    busy = sum(
        (values.sum(axis=1) for values in active), np.zeros(len(everyone.agents))
    )
    order = np.argsort(-busy, kind="stable").tolist()
    held = told.get(REMEMBER)
    if held is not None:
        ever = held.any(axis=1)
        since = np.where(ever, held.argmax(axis=1), len(everyone.steps))
        early = [n for n in np.argsort(since, kind="stable").tolist() if ever[n]]
        order = [*early[: most // 2], *order]
    return [everyone.agents[n] for n in dict.fromkeys(order)][:most]
