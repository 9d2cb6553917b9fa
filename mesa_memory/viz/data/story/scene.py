"""Places and outcomes of agents, and numbers of the model, step by step."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mesa_memory.runs import Run
from mesa_memory.viz.data import reading

#: prefix of the kind of a row of outcomes; the outcome's name follows
OUTCOMES = "outcomes/"


@dataclass(frozen=True)
class Scene:
    """A model besides its memories.

    Attributes:
        agents: the unique ids, in order; then ``others``.
        others: agents without a memory, by their unique ids as text.
        ends: each finished step, and the last ``seq`` by its end.
        spaces: the space, see ``hosts.mesa_space``, from a place of a step on; in order.
        places: shape (agents, steps, 2), x and y; NaN for an agent without a place.
        outcomes: by name, shape (agents, steps), of objects; None for an agent without one.
        collected: by reporter, shape (steps,); NaN for no number.
    """

    agents: list[Any]
    others: list[str]
    ends: list[tuple[float, int]]
    spaces: list[tuple[int, dict[str, Any]]]
    places: np.ndarray
    outcomes: dict[str, np.ndarray]
    collected: dict[str, np.ndarray]

    @property
    def steps(self) -> list[float]:
        """The finished steps."""
        return [step for step, _ in self.ends]

    @cached_property
    def placed(self) -> bool:
        """True if an agent has a place."""
        return bool(np.isfinite(self.places).any())

    @cached_property
    def moving(self) -> bool:
        """True if an agent was at two places."""
        first = self.places[:, :1]
        return not np.array_equal(
            np.broadcast_to(first, self.places.shape), self.places, equal_nan=True
        )

    def space(self, place: int) -> dict[str, Any]:
        """The space at a place of a step; empty without one."""
        found: dict[str, Any] = {}
        for since, space in self.spaces:
            found = space if since <= place else found
        return found


def scene(run: Run, before: Scene | None = None) -> Scene:
    """The scene until now.

    Args:
        run: a recorded run.
        before: an earlier result; then only newer rows are read.
    """
    ends, known = reading.ends(run), run.unique_ids
    others = before.others if before else []
    if before is not None and not _goes_on(before, [*known.values(), *others], ends):
        before, others = None, []
    rows = reading.scenes(run, before.ends[-1][1] if before else -1)
    new = _unknown(rows, [*known, *others])
    if before is not None and new:
        return scene(run)  # the earlier arrays have no row for a new agent
    others = [*others, *new]
    seqs = [seq for _, seq in ends]
    of_step: dict[int, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for seq, kind, state in rows:
        of_step[bisect_left(seqs, seq)].append((kind or "", state or {}))
    arrays = _Arrays([*known, *others], len(ends), before)
    for place in range(len(before.ends) if before else 0, len(ends)):
        arrays.repeat(place)
        for kind, state in of_step[place]:
            arrays.take(place, kind, state)
    return Scene(
        [*known.values(), *others],
        others,
        ends,
        arrays.spaces,
        arrays.places,
        dict(arrays.outcomes),
        dict(arrays.collected),
    )


def _unknown(rows: Iterable[Sequence[Any]], known: Sequence[str]) -> list[str]:
    """The agents of rows without a row yet, in order."""
    of_agents = (
        state or {}
        for _, kind, state in rows
        if kind == "places" or (kind or "").startswith(OUTCOMES)
    )
    named = dict.fromkeys(name for state in of_agents for name in state)
    for name in known:
        named.pop(name, None)
    return list(named)


def _goes_on(before: Scene, agents: list[Any], ends: list[tuple[float, int]]) -> bool:
    known = before.ends
    return bool(known) and before.agents == agents and ends[: len(known)] == known


class _Arrays:
    """The arrays of a scene, filled step by step."""

    def __init__(self, names: Sequence[str], steps: int, before: Scene | None) -> None:
        shape = len(names), steps
        self._row = {name: place for place, name in enumerate(names)}
        self.spaces = list(before.spaces) if before else []
        self.places = np.full((*shape, 2), np.nan)
        self.outcomes: dict[str, np.ndarray] = defaultdict(
            lambda: np.full(shape, None, dtype=object)
        )
        self.collected: dict[str, np.ndarray] = defaultdict(
            lambda: np.full(steps, np.nan)
        )
        if before is not None:
            known = len(before.ends)
            self.places[:, :known] = before.places
            for name, values in before.outcomes.items():
                self.outcomes[name][:, :known] = values
            for name, values in before.collected.items():
                self.collected[name][:known] = values

    def repeat(self, place: int) -> None:
        """Copies the step before, if there is one."""
        if place:
            for array in (self.places, *self.outcomes.values()):
                array[:, place] = array[:, place - 1]
            for numbers in self.collected.values():
                numbers[place] = numbers[place - 1]

    def take(self, place: int, kind: str, state: Mapping[str, Any]) -> None:
        """Enters the changes of a row; damaged values are left out."""
        of_agents = [(self._row[n], v) for n, v in state.items() if n in self._row]
        if kind == "space":
            last = self.spaces[-1][1] if self.spaces else {}
            now = {k: v for k, v in {**last, **state}.items() if v is not None}
            self.spaces.append((place, now))
        elif kind == "places":
            for row, point in of_agents:
                usable = isinstance(point, list) and len(point) == 2
                self.places[row, place] = (
                    list(map(_number, point)) if usable else np.nan
                )
        elif kind == "collected":
            for name, value in state.items():
                self.collected[name][place] = _number(value)
        elif kind.startswith(OUTCOMES):
            values = self.outcomes[kind.removeprefix(OUTCOMES)]
            for row, value in of_agents:
                values[row, place] = (
                    value if isinstance(value, str | int | float) else None
                )


def _number(value: Any) -> float:
    found = reading.number(value)
    return np.nan if found is None else found


def circle(count: int) -> np.ndarray:
    """Places on a circle for agents without one, shape (count, 2)."""
    turns = 2 * np.pi * np.arange(count) / max(count, 1)
    return np.stack([np.sin(turns), np.cos(turns)], axis=1)
