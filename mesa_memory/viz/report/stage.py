"""Where the agents of a report stand, in a square from 0 to 1 with the top at 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.viz.data.story.frames import box, spots
from mesa_memory.viz.data.story.scene import Scene

#: lines of a network that are drawn; more are a grey area
MOST_TIES = 2000
#: digits of a position
DIGITS = 3

type Spots = list[list[float] | None]


@dataclass(frozen=True)
class Stage:
    """Where everybody is.

    Attributes:
        places: for each step x and y of each agent, None for who is nowhere; of one
            step alone if nobody ever moves.
        ties: lines of a network, x, y, x, y.
    """

    places: list[Spots]
    ties: list[list[float]]


def stage(scene: Scene, agents: Sequence[Any]) -> Stage:
    """The places of agents as the model's space has them; a circle where it has none."""
    steps = range(len(scene.steps)) if scene.placed and scene.moving else range(1)
    last = max(len(scene.steps) - 1, 0)
    fit = _Fit(box(scene, last))
    places = [fit.spots(spots(agents, scene, place)) for place in steps]
    given = scene.space(last).get("ties") if scene.placed else None
    ties = [tie for tie in given or () if isinstance(tie, list) and len(tie) == 4]
    return Stage(places, [fit.tie(tie) for tie in ties[:MOST_TIES]])


class _Fit:
    """Brings a rectangle into the square, in the middle and in its own proportions."""

    def __init__(self, rectangle: Sequence[float]) -> None:
        left, low, right, high = (float(value) for value in rectangle)
        self._size = max(right - left, high - low) or 1.0
        self._middle = np.array([(left + right) / 2, (low + high) / 2])

    def spots(self, given: np.ndarray) -> Spots:
        """Places of a step, shape (agents, 2)."""
        found = (given - self._middle) / self._size * (1, -1) + 0.5
        rounded = np.round(found, DIGITS)
        return [row.tolist() if np.isfinite(row).all() else None for row in rounded]

    def tie(self, given: Sequence[float]) -> list[float]:
        """A line."""
        ends = self.spots(np.array(given, dtype=float).reshape(2, 2))
        return [value for end in ends if end for value in end]
