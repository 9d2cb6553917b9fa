"""Where the agents were, and what the model itself told of them, step by step."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mesa_memory.runs import Run
from mesa_memory.viz.data import reading

#: what a kind of row of outcomes begins with; then comes the outcome's name
OUTCOMES = "outcomes/"


@dataclass(frozen=True)
class Scene:
    """What is to be seen of a model besides its memories.

    Attributes:
        agents: the unique ids, in order; then ``others``.
        others: agents without a memory of which the model told something, by their
            unique ids as text.
        ends: each finished step, and the last ``seq`` by its end.
        spaces: the space, see ``hosts.mesa_space``, from a place of a step on; in order.
        places: shape (agents, steps, 2), x and y; NaN for who is nowhere.
        outcomes: by name, shape (agents, steps), of objects; None for who has none.
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
        """True if the run says where anybody was."""
        return bool(np.isfinite(self.places).any())

    @cached_property
    def moving(self) -> bool:
        """True if anybody was at two places."""
        first = self.places[:, :1]
        return not np.array_equal(
            np.broadcast_to(first, self.places.shape), self.places, equal_nan=True
        )

    def space(self, place: int) -> dict[str, Any]:
        """The space at a place of a step; empty if there is none."""
        found: dict[str, Any] = {}
        for since, space in self.spaces:
            found = space if since <= place else found
        return found


def scene(run: Run, before: Scene | None = None) -> Scene:
    """What was recorded until now.

    Args:
        run: a recorded run.
        before: what was found earlier; then only what is new is read.
    """
    ends, known = reading.ends(run), run.unique_ids
    others = before.others if before else []
    if before is not None and not _goes_on(before, [*known.values(), *others], ends):
        before, others = None, []
    first = len(before.ends) if before else 0
    rows = reading.scenes(run, before.ends[-1][1] if before else -1)
    new = _unknown(rows, [*known, *others])
    if before is not None and new:
        return scene(run)  # somebody is new, who has no place in what was found earlier
    others = [*others, *new]
    agents = [*known.values(), *others]
    held = _Filling([*known, *others], len(ends), before)
    seqs = [seq for _, seq in ends]
    place = first
    held.begin(place)
    for seq, kind, state in rows:
        at = bisect_left(seqs, seq)
        while place < min(at, len(ends) - 1):
            place += 1
            held.begin(place)
        if at < len(ends):
            held.take(place, kind or "", state or {})
    while place < len(ends) - 1:
        place += 1
        held.begin(place)
    found = held.spaces, held.places, held.outcomes, held.collected
    return Scene(agents, others, ends, *found)


def _unknown(rows: Iterable[Sequence[Any]], known: Sequence[str]) -> list[str]:
    """The agents of whom rows tell something, without these; in order."""
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


class _Filling:
    """The arrays of a scene while they are filled, step by step."""

    def __init__(self, names: Sequence[str], steps: int, before: Scene | None) -> None:
        self._row = {name: place for place, name in enumerate(names)}
        self._shape = len(names), steps
        self.spaces = list(before.spaces) if before else []
        self.places = np.full((*self._shape, 2), np.nan)
        self.outcomes: dict[str, np.ndarray] = {}
        self.collected: dict[str, np.ndarray] = {}
        if before is None:
            return
        self.places[:, : len(before.ends)] = before.places
        for name, values in before.outcomes.items():
            self._outcome(name)[:, : len(before.ends)] = values
        for name, numbers in before.collected.items():
            self._numbers(name)[: len(before.ends)] = numbers

    def begin(self, place: int) -> None:
        """At first a step is as the one before."""
        if not 0 < place < self._shape[1]:
            return
        for array in (self.places, *self.outcomes.values()):
            array[:, place] = array[:, place - 1]
        for numbers in self.collected.values():
            numbers[place] = numbers[place - 1]

    def take(self, place: int, kind: str, state: Mapping[str, Any]) -> None:
        """What a row says has changed in a step; what is damaged in it is left out."""
        if kind == "space":
            last = self.spaces[-1][1] if self.spaces else {}
            now = {k: v for k, v in {**last, **state}.items() if v is not None}
            self.spaces.append((place, now))
        elif kind == "places":
            for row, where in self._of_agents(state):
                self.places[row, place] = _point(where)
        elif kind == "collected":
            for name, value in state.items():
                number = np.nan if value is None else _number(value)
                self._numbers(name)[place] = number
        elif kind.startswith(OUTCOMES):
            values = self._outcome(kind.removeprefix(OUTCOMES))
            for row, value in self._of_agents(state):
                plain = isinstance(value, str | int | float)
                values[row, place] = value if plain else None

    def _of_agents(self, state: Mapping[str, Any]) -> Iterable[tuple[int, Any]]:
        return ((self._row[n], value) for n, value in state.items() if n in self._row)

    def _outcome(self, name: str) -> np.ndarray:
        if name not in self.outcomes:
            self.outcomes[name] = np.full(self._shape, None, dtype=object)
        return self.outcomes[name]

    def _numbers(self, name: str) -> np.ndarray:
        if name not in self.collected:
            self.collected[name] = np.full(self._shape[1], np.nan)
        return self.collected[name]


def _point(where: Any) -> tuple[float, float]:
    if isinstance(where, list) and len(where) == 2:
        return _number(where[0]), _number(where[1])
    return np.nan, np.nan


def _number(value: Any) -> float:
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if usable and math.isfinite(value) else np.nan


def circle(count: int) -> np.ndarray:
    """Places for agents who are nowhere, shape (count, 2): around a circle."""
    turns = 2 * np.pi * np.arange(count) / max(count, 1)
    return np.stack([np.sin(turns), np.cos(turns)], axis=1)
