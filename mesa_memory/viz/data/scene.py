"""Places and outcomes of agents, and numbers of the model, step by step."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mesa_memory.runs import Run, measured
from mesa_memory.runs.measured import OUTCOMES
from mesa_memory.viz.data.agent import number

#: longest text that is a colour, in characters
CLASS_CHARS = 30


@dataclass(frozen=True)
class Scene:
    """A model besides its memories.

    Attributes:
        agents: the unique ids, in order; then ``others``.
        others: agents without a memory, by their unique ids as text.
        steps: the finished steps.
        spaces: the space, see ``hosts.mesa_space``, from a place of a step on; in order.
        places: shape (agents, steps, 2), x and y; NaN for an agent without a place.
        outcomes: by name, shape (agents, steps), of objects; None for an agent without one.
        collected: by reporter, shape (steps,); NaN for no number.
    """

    agents: list[Any]
    others: list[str]
    steps: list[float]
    spaces: list[tuple[int, dict[str, Any]]]
    places: np.ndarray
    outcomes: dict[str, np.ndarray]
    collected: dict[str, np.ndarray]

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

    @cached_property
    def classed(self) -> list[str]:
        """The outcomes that curves and colours can show.

        Left out are texts that are as many as the agents, or sentences.
        """
        return [name for name, values in self.outcomes.items() if _is_classed(values)]

    def space(self, place: int) -> dict[str, Any]:
        """The space at a place of a step; empty without one."""
        found: dict[str, Any] = {}
        for since, space in self.spaces:
            found = space if since <= place else found
        return found


def scene(run: Run) -> Scene:
    """The scene until now; damaged values are left out."""
    ends, known = measured.ends(run), run.unique_ids
    seqs = [seq for _, seq in ends]
    changes: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for seq, kind, state in measured.scenes(run):
        changes[kind or ""].append((bisect_left(seqs, seq), state or {}))
    of_agents = {
        kind: found
        for kind, found in changes.items()
        if kind == "places" or kind.startswith(OUTCOMES)
    }
    named = [
        name for found in of_agents.values() for _, state in found for name in state
    ]
    rows = {name: row for row, name in enumerate(dict.fromkeys([*known, *named]))}
    others = list(rows)[len(known) :]
    shape = len(rows), len(ends)
    places = np.full((*shape, 2), np.nan)
    for place, state in changes["places"]:
        for name, point in state.items():
            places[rows[name], place:] = _point(point)
    collected: dict[str, np.ndarray] = defaultdict(lambda: np.full(len(ends), np.nan))
    for place, state in changes["collected"]:
        for name, value in state.items():
            collected[name][place:] = _number(value)
    return Scene(
        [*known.values(), *others],
        others,
        [step for step, _ in ends],
        _spaces(changes["space"]),
        places,
        {
            kind.removeprefix(OUTCOMES): _outcome(found, rows, shape)
            for kind, found in of_agents.items()
            if kind != "places"
        },
        dict(collected),
    )


def _spaces(
    changes: list[tuple[int, dict[str, Any]]],
) -> list[tuple[int, dict[str, Any]]]:
    """The space after each of its changes; None takes an entry away."""
    found: list[tuple[int, dict[str, Any]]] = []
    now: dict[str, Any] = {}
    for place, state in changes:
        now = {k: v for k, v in {**now, **state}.items() if v is not None}
        found.append((place, now))
    return found


def _outcome(
    changes: list[tuple[int, dict[str, Any]]],
    rows: Mapping[str, int],
    shape: tuple[int, int],
) -> np.ndarray:
    """An outcome of each agent at each step."""
    values = np.full(shape, None, dtype=object)
    for place, state in changes:
        for name, value in state.items():
            usable = isinstance(value, str | int | float)
            values[rows[name], place:] = value if usable else None
    return values


def _point(value: Any) -> Any:
    usable = isinstance(value, list) and len(value) == 2
    return list(map(_number, value)) if usable else np.nan


def _number(value: Any) -> float:
    found = number(value)
    return np.nan if found is None else found


def _is_classed(values: np.ndarray) -> bool:
    texts = {value for value in values.ravel().tolist() if isinstance(value, str)}
    own = len(texts) > 2 and len(texts) >= len(values)
    return not own and all(len(text) <= CLASS_CHARS for text in texts)


def circle(count: int) -> np.ndarray:
    """Places on a circle for agents without one, shape (count, 2)."""
    turns = 2 * np.pi * np.arange(count) / max(count, 1)
    return np.stack([np.sin(turns), np.cos(turns)], axis=1)
