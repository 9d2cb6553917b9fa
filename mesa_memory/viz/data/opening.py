"""The step and the agent at which a page opens if its address names none."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mesa_memory.viz.data.activity import Activity
from mesa_memory.viz.data.colouring import Colouring, of_outcome
from mesa_memory.viz.data.scene import Scene


def opening(scene: Scene, counted: Callable[[], Activity]) -> tuple[float, Any] | None:
    """The step with the most changes, the earliest of equals, and an agent that changed.

    Changes are those of the outcomes; without one, the conclusions that memories made,
    which include impressions of others.

    Args:
        counted: gives the activity of the run.

    Returns:
        None for a run without changes.
    """
    agents = scene.agents[: len(scene.agents) - len(scene.others)]
    found = np.zeros((len(agents), len(scene.steps)))
    for name in scene.classed:
        found += changes(of_outcome(scene, name))[: len(agents)]
    if not found.any():
        found = counted()["made"]
    if not found.any():
        return None
    place = int(found.sum(axis=0).argmax())
    return scene.steps[place], agents[int(found[:, place].argmax())]


def changes(found: Colouring) -> np.ndarray:
    """The change of each agent since the step before, shape (agents, steps).

    That of a class is 0 or 1, that of a number a share of the numbers' range. In the
    first step, nothing has changed.
    """
    before = np.concatenate([found.values[:, :1], found.values[:, :-1]], axis=1)
    if found.classes:
        both = np.isnan(found.values) & np.isnan(before)
        return ((found.values != before) & ~both).astype(float)
    low, high = found.range
    return np.nan_to_num(np.abs(found.values - before)) / (high - low or 1.0)
