"""Impressions of agents of each other, step by step."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import select

from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.runs.state import COLUMNS
from mesa_memory.stores import schema
from mesa_memory.viz.data import reading
from mesa_memory.viz.data.agent import Row

#: a sentiment nearer to 0 than this is neither friendly nor hostile
NEUTRAL = 0.1


@dataclass(frozen=True)
class HeldOpinion:
    """The impression of one agent of another one, from one step to another.

    Attributes:
        id: of the record.
        observer, subject: unique ids.
        sentiment: -1 to 1; None if the record does not say.
        familiarity: 0 to 1; None if the record does not say.
        since, until: from the end of step ``since`` to that of ``until``, or None.
        ended: the reason of its end.
    """

    id: str
    observer: Any
    subject: Any
    text: str
    sentiment: float | None
    familiarity: float | None
    since: float
    until: float | None
    ended: str | None

    @property
    def sign(self) -> str:
        """``"+"``, ``"−"``, ``"0"``, or ``"?"`` if the sentiment is not known."""
        value = self.sentiment
        if value is None:
            return "?"
        return "+" if value > NEUTRAL else "−" if value < -NEUTRAL else "0"

    def held(self, step: float) -> bool:
        """True if it was current at the end of a step."""
        return self.since <= step and (self.until is None or self.until > step)


class Opinions:
    """All impressions that agents of a run ever had of each other.

    Args:
        found: in order of arrival.
        agents: unique ids of the run's agents, in order.

    Attributes:
        people: observers and subjects, the run's agents first, in their order.
    """

    def __init__(self, found: Iterable[HeldOpinion], agents: Iterable[Any]) -> None:
        self.all = list(found)
        named = dict.fromkeys(o.subject for o in self.all)
        named |= dict.fromkeys(o.observer for o in self.all)
        first = [agent for agent in agents if agent in named]
        others = [one for one in named if one not in set(first)]
        self.people = first + sorted(others, key=str)
        self._pairs: dict[Any, dict[Any, list[HeldOpinion]]] = {}
        for one in sorted(self.all, key=lambda opinion: opinion.since):
            known = self._pairs.setdefault(one.observer, {})
            known.setdefault(one.subject, []).append(one)

    def at(self, step: float) -> list[HeldOpinion]:
        """The impressions at the end of a step, by observer and subject."""
        place = {one: n for n, one in enumerate(self.people)}
        held = [opinion for opinion in self.all if opinion.held(step)]
        return sorted(held, key=lambda o: (place[o.observer], place[o.subject]))

    def of(self, observer: Any) -> list[Any]:
        """The agents of whom an agent ever had an impression, in order of their ids."""
        met = self._pairs.get(observer, {})
        return [one for one in self.people if one in met]

    def pair(self, observer: Any, subject: Any) -> list[HeldOpinion]:
        """The impressions of one agent of the other, oldest first."""
        return self._pairs.get(observer, {}).get(subject, [])


def opinions(run: Run) -> Opinions:
    """Reads all impressions of a run."""
    records = schema.records
    wanted = select(*COLUMNS).where(
        # From end to end: through an index this takes three times as long.
        records.c.run + 0 == run.id,
        records.c.kind == "impression",
        records.c.subject.is_not(None),
    )
    rows = sorted(run.records(wanted), key=itemgetter("seq"))
    found = [_opinion(row) for row in rows]
    return Opinions(filter(None, found), run.unique_ids.values())


def line(
    opinions: list[HeldOpinion], steps: list[float], what: str
) -> list[float | None]:
    """A number of a pair's opinions at each step, or None.

    Args:
        opinions: of ``Opinions.pair``.
        what: ``"sentiment"`` or ``"familiarity"``.
    """
    found: list[float | None] = []
    for step in steps:
        current = [opinion for opinion in opinions if opinion.held(step)]
        found.append(getattr(current[-1], what) if current else None)
    return found


def _opinion(row: Row) -> HeldOpinion | None:
    """A conclusion about an agent; None for an event of the same kind."""
    content = row["content"] if isinstance(row["content"], dict) else {}
    names = ("sentiment", "familiarity")
    sentiment, familiarity = (reading.number(content.get(name)) for name in names)
    if row["origin"] != DERIVED and sentiment is None:
        return None
    return HeldOpinion(
        row["id"],
        row["agent"],
        row["subject"],
        row["text"] or "",
        sentiment,
        familiarity,
        row["valid_from"],
        row["valid_to"],
        row["closed_because"],
    )
