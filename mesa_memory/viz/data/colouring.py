"""Colours of agents: one value for each agent and step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mesa_memory.viz.data.activity import MEASURES, Activity
from mesa_memory.viz.data.scene import Scene
from mesa_memory.viz.data.spread import HoldingCounts

#: meaning of an outcome
OUTCOME = "an outcome of the model's agents"


@dataclass(frozen=True)
class Colouring:
    """A value for each agent and step.

    Attributes:
        label: what it is, for people.
        meaning: of the values, in a few words.
        agents: the unique ids, in order.
        values: shape (agents, steps); numbers, or the places of ``classes``; NaN for no
            value.
        classes: what there is, in the order in which it came up; empty for numbers.
    """

    label: str
    meaning: str
    agents: list[Any]
    values: np.ndarray
    classes: tuple[str, ...] = ()

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest number; (0, 0) without numbers."""
        known = self.values[np.isfinite(self.values)]
        return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)

    def goes_on(self, before: "Colouring") -> bool:
        """True if it says the same as an earlier one, and maybe more, of new steps."""
        steps = before.values.shape[1]
        return (
            (self.label, self.agents) == (before.label, before.agents)
            and self.classes[: len(before.classes)] == before.classes
            and np.array_equal(self.values[:, :steps], before.values, equal_nan=True)
        )

    def curves(self) -> list[tuple[str, np.ndarray]]:
        """Label and values by step: agents of each class, or the mean of the numbers.

        The mean is NaN at a step without a number.
        """
        if self.classes:
            return [
                (name, (self.values == place).sum(axis=0))
                for place, name in enumerate(self.classes)
            ]
        known = np.isfinite(self.values)
        count = known.sum(axis=0)
        total = np.where(known, self.values, 0).sum(axis=0, dtype=float)
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return [(f"mean {self.label.lower()}", mean)]

    def summary(self, place: int) -> str:
        """The values at the place of a step, in words."""
        total = len(self.agents)
        if place >= self.values.shape[1]:
            return f"the values of {total} agents are not read yet"
        at = [(name, values[place]) for name, values in self.curves()]
        if self.classes:
            none = total - sum(count for _, count in at)
            if none:
                at.append(("none", none))
            counts = ", ".join(f"{name} {count}" for name, count in at)
            return f"{self.label} of {total} agents: {counts}"
        mean = at[0][1]
        return (
            f"{at[0][0]} of {total} agents: {'none' if mean != mean else f'{mean:.3g}'}"
        )


def colour_keys(scene: Scene) -> dict[str, str]:
    """The keys of all colours, with their labels; the usual one first."""
    found = {f"outcome:{name}": f"Outcome: {name}" for name in scene.classed}
    known = MEASURES.items()
    return found | {
        f"memory:{n}": f"Memory: {label.lower()}" for n, (label, _) in known
    }


def coloured(key: str, scene: Scene, counted: Callable[[], Activity]) -> Colouring:
    """The colours of one of ``colour_keys``.

    Args:
        counted: gives the activity of the run, which only measures of memories need.
    """
    kind, _, name = key.partition(":")
    return of_outcome(scene, name) if kind == "outcome" else of_measure(counted(), name)


def of_outcome(scene: Scene, name: str) -> Colouring:
    """By an outcome of the model; as numbers only if all values are numbers."""
    values = scene.outcomes[name]
    given = values.T.ravel().tolist()  # step by step
    kinds = set(map(type, given)) - {type(None)}
    if kinds and kinds <= {int, float}:
        return Colouring(name, OUTCOME, scene.agents, values.astype(np.float32))
    places, classes = pd.factorize(np.array([*map(_word, given)], dtype=object))
    found = np.where(places < 0, np.nan, places).astype(np.float32)
    found = found.reshape(values.T.shape).T
    return Colouring(name, OUTCOME, scene.agents, found, tuple(classes))


def of_measure(activity: Activity, measure: str) -> Colouring:
    """By one of ``MEASURES``."""
    return Colouring(*MEASURES[measure], activity.agents, activity.measure(measure))


def of_text(held: HoldingCounts, text: str, says: str = "states") -> Colouring:
    """By whether an agent held a memory that states a text, or denies it."""
    values = np.where(held.counts > 0, 0, np.nan).astype(np.float32)
    meaning = f"agents that remember a sentence that {says} it"
    return Colouring("a memory of the text", meaning, held.agents, values, (text,))


def nothing(agents: list[Any], steps: int) -> Colouring:
    """For a picture without colours."""
    return Colouring("nothing", "", agents, np.full((len(agents), steps), np.nan))


def _word(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
