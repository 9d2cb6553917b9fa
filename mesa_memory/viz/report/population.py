"""The population of a report: who is where, what each says, and what is counted."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mesa_memory.core.events import event_text
from mesa_memory.core.records import IMPORTED
from mesa_memory.runs import Run
from mesa_memory.viz.data import reading, spread
from mesa_memory.viz.data.activity import Activity, activity

#: similarity from which on a text counts as the one that is looked for
LEAST = 0.6
#: what a curve shows: its name, what it counts, and its name in ``Activity``
MEASURES = (
    ("Events", "events that reached agents in the step", "events"),
    ("Conclusions", "summaries, reflections, impressions made in the step", "made"),
    ("Recalls", "times that memories were recalled in the step", "recalls"),
    ("Calls", "requests to a language model in the step", "calls"),
    ("Tokens", "tokens of these requests, both ways", "tokens"),
)


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
class Measure:
    """A number for each agent and step, and for the population as a whole.

    Attributes:
        name: of one word or a short phrase.
        hint: what one number means.
        of_agents: shape (agents, steps), whole numbers.
        total: shape (steps,), what the curve shows.
    """

    name: str
    hint: str
    of_agents: np.ndarray
    total: np.ndarray


@dataclass(frozen=True)
class Population:
    """Everything of a run that is about all agents.

    Attributes:
        agents: unique ids, in order.
        names: what people call those that have a name of their own.
        positions: x and y of each agent, from 0 to 1.
        steps: the finished steps.
        messages: in order.
        measures: one curve each.
    """

    agents: list[Any]
    names: dict[Any, str]
    positions: list[tuple[float, float]]
    steps: list[float]
    messages: list[Message]
    measures: list[Measure]


def population(run: Run, about: str = "", unlike: str = "") -> Population:
    """Reads a run.

    Args:
        about: a text; who remembers something like it becomes the first measure.
        unlike: what is more similar to this text than to ``about`` does not count.
    """
    counted = activity(run)
    measures = [
        Measure(name, hint, counted[key], counted[key].sum(axis=0))
        for name, hint, key in MEASURES
    ]
    if about.strip():
        measures[:0] = _holders(run, about, unlike)
    shown = [measure for measure in measures if measure.of_agents.any()]
    return Population(
        counted.agents,
        run.names,
        _circle(len(counted.agents)),
        counted.steps,
        messages(run, counted),
        [replace(measure, total=np.round(measure.total, 6)) for measure in shown],
    )


def messages(run: Run, counted: Activity) -> list[Message]:
    """Who told what to whom in each step, in order of arrival.

    A message that several agents heard is one message with several recipients.
    """
    places = {agent: place for place, agent in enumerate(counted.agents)}
    named = run.unique_ids
    ends = reading.ends(run)
    heard: dict[tuple[int, int, str], dict[int, None]] = {}
    place = 0
    for row in reading.messages(run, -1, ends[-1][1] if ends else -1):
        while row["seq"] > ends[place][1]:
            place += 1
        content = row["content"] if isinstance(row["content"], dict) else {}
        sender = named.get(str(content.get("sender")))
        speaker, listener = places.get(sender), places.get(row["agent"])
        if speaker is None or listener is None or row["origin"] == IMPORTED:
            continue
        recipients = heard.setdefault((place, speaker, _words(content)), {})
        if listener != speaker:
            recipients[listener] = None
    found = [Message(*key, words) for key, words in _named(heard)]
    return sorted(found, key=lambda message: message.place)


def _named(
    heard: dict[tuple[int, int, str], dict[int, None]],
) -> Iterable[tuple[tuple[int, int, tuple[int, ...]], str]]:
    for (place, speaker, words), recipients in heard.items():
        yield (place, speaker, tuple(recipients)), words


def _words(content: dict[str, Any]) -> str:
    said = content.get("message")
    return said if isinstance(said, str) else event_text("message", content, 1000)


def _holders(run: Run, about: str, unlike: str) -> list[Measure]:
    """Who remembered something like the text, and like the other one."""
    found, other = spread.compared(run, about, unlike)
    measures = []
    for text, one in ((about, found), (unlike, other)):
        if one is not None:
            counts = (spread.holding(one, LEAST).counts > 0).astype(np.float32)
            hint = f"agents that remember something like “{text.strip()}”"
            name = "Remember it" if one is found else "Remember the other text"
            measures.append(Measure(name, hint, counts, counts.sum(axis=0)))
    return measures


def _circle(count: int) -> list[tuple[float, float]]:
    """Places on a circle, the first agent at the top, the others clockwise."""
    angles = (2 * math.pi * n / max(count, 1) for n in range(count))
    return [
        (round(0.5 + 0.5 * math.sin(a), 4), round(0.5 - 0.5 * math.cos(a), 4))
        for a in angles
    ]


def chosen_agents(
    run: Run, everyone: Population, given: Sequence[Any] | None, most: int
) -> list[Any]:
    """The agents whose memory a report shows in full.

    Args:
        given: unique ids or names; None takes those with most to tell: first those that
            the first measure found first if it looks for a text, then the most active.
        most: how many are taken if none are given.

    Raises:
        ValueError: if the run has no such agent; names those it has.
    """
    if given is not None:
        named = run.unique_ids
        return list(dict.fromkeys(named[run.name_of(agent)] for agent in given))
    if not everyone.agents:
        return []
    busy = sum(
        (m.of_agents.sum(axis=1) for m in everyone.measures if m.name in _ACTIVE),
        np.zeros(len(everyone.agents)),
    )
    order = np.argsort(-busy, kind="stable").tolist()
    first = everyone.measures[0] if everyone.measures else None
    if first is not None and first.name not in {name for name, *_ in MEASURES}:
        ever = first.of_agents.any(axis=1)
        since = np.where(ever, first.of_agents.argmax(axis=1), len(everyone.steps))
        early = [n for n in np.argsort(since, kind="stable").tolist() if ever[n]]
        order = [*early[: most // 2], *order]
    return [everyone.agents[n] for n in dict.fromkeys(order)][:most]


#: measures by which an agent counts as active
_ACTIVE = ("Conclusions", "Recalls", "Events")
