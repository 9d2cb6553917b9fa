"""The visible state of a model besides its memories: places, outcomes, collected data.

Only what has changed since the step before is noted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from mesa_memory.hosts import space as mesa_space
from mesa_memory.stores import schema
from mesa_memory.stores.sql import Store

#: kinds of rows: see ``schema.scenes``
SPACE, PLACES, OUTCOMES, COLLECTED = "space", "places", "outcomes", "collected"
POPULATION = "population"


class WorldLog:
    """Gives the rows of ``scenes`` with the changes of a step."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._space: mesa_space.Space | None = None

    def take_up(self, store: Store, run: int) -> None:
        """Starts from the last rows of a run."""
        table = schema.scenes
        query = sa.select(table.c.kind, table.c.state).filter_by(run=run)
        with store.reading() as on:
            rows = on.execute(query.order_by(table.c.seq)).all()
        self._known = latest(rows)

    def rows(
        self, model: Any, outcomes: Sequence[str], step: float
    ) -> list[dict[str, Any]]:
        """The changes at the end of a step.

        Args:
            model: the Mesa model.
            outcomes: attributes of its agents that are noted.
            step: that has ended.

        Raises:
            TypeError: if such an attribute is not a text, number, True or False.
        """
        found = []
        for kind, now in self._seen(model, outcomes).items():
            before = self._known.get(kind, {})
            news = {key: v for key, v in now.items() if before.get(key, _ABSENT) != v}
            news |= {key: None for key in before if key not in now}
            if news:
                self._known[kind] = now
                found.append({"step": step, "kind": kind, "state": news})
        return found

    def _seen(
        self, model: Any, outcomes: Sequence[str]
    ) -> Mapping[str, dict[str, Any]]:
        agents, space = list(model.agents), self._space_of(model)
        here = {str(agent.unique_id): space.place(agent) for agent in agents if space}
        found = {
            POPULATION: {str(a.unique_id): type(a).__name__ for a in agents},
            SPACE: space.described if space else {},
            PLACES: {name: place for name, place in here.items() if place},
            COLLECTED: mesa_space.collected(model),
        }
        for name in outcomes:
            found[f"{OUTCOMES}/{name}"] = mesa_space.outcomes(agents, name)
        return found

    def _space_of(self, model: Any) -> mesa_space.Space | None:
        """The model's space; only a network changes."""
        thing = mesa_space.space_of(model)
        if thing is None:
            return None
        if self._space is None or not self._space.stays(thing):
            self._space = mesa_space.Space(thing)
        return self._space


#: equals no value
_ABSENT = object()


def latest(rows: Iterable[Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """The last state by kind, from rows of ``scenes`` as (kind, state) in order."""
    found: dict[str, dict[str, Any]] = {}
    for kind, state in rows:
        known = found.setdefault(kind, {})
        for key, value in (state or {}).items():
            if value is None:
                known.pop(key, None)
            else:
                known[key] = value
    return found
