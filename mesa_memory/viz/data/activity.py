"""Counts of the actions of agents in every step."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.runs import Run, measured

#: counts for each agent and step, in the order of the arrays
COUNTS = (
    "events", "made", "grades", "graded", "recalls", "calls", "tokens", "cost",
    "unpriced",
)  # fmt: skip
#: measures of the heat map and the report: label, and the meaning of a number
MEASURES = {
    "events": ("Events", "events that reached the agent in the step"),
    "importance": ("Importance", "mean grade of the step's events, 1 to 5"),
    "made": ("Conclusions", "summaries, reflections, impressions made in the step"),
    "recalls": ("Recalls", "times that memories were recalled in the step"),
    "calls": ("Calls", "requests to a language model in the step"),
    "tokens": ("Tokens", "tokens of these requests, both ways"),
    "cost": ("Cost", "US dollars for these requests"),
}


@dataclass(frozen=True)
class Activity:
    """Counts per agent and step.

    Attributes:
        agents: the unique ids, in order.
        steps: the finished steps.
        counts: shape (COUNTS, agents, steps), float32. What came between two steps
            counts to the later one.
    """

    agents: list[Any]
    steps: list[float]
    counts: np.ndarray

    def __getitem__(self, name: str) -> np.ndarray:
        """One of ``COUNTS``, shape (agents, steps)."""
        return self.counts[COUNTS.index(name)]

    def measure(self, name: str) -> np.ndarray:
        """One of ``MEASURES``, shape (agents, steps).

        The mean grade of no event and the cost of a request without a price are NaN.
        """
        if name == "importance":
            return _mean(self["grades"], self["graded"])
        if name == "cost":
            return np.where(self["unpriced"] > 0, np.float32(np.nan), self["cost"])
        return self[name]

    def totals(self, step: float) -> dict[str, float | None]:
        """The sums of a step over all agents; None if one is unknown."""
        place = self.steps.index(step)
        sums = Activity(
            [None], [step], self.counts[:, :, [place]].sum(1, keepdims=True)
        )
        found = {name: float(sums.measure(name)[0, 0]) for name in MEASURES}
        return {name: None if np.isnan(v) else v for name, v in found.items()}


def _mean(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.where(count > 0, total / np.maximum(count, 1), np.float32(np.nan))


def activity(run: Run) -> Activity:
    """Counts until now."""
    steps, known = run.steps, run.unique_ids
    counts = np.zeros((len(COUNTS), len(known), len(steps)), dtype=np.float32)
    places = {name: place for place, name in enumerate(known)}
    for start, rows in (
        (0, measured.remembered(run)),
        (4, measured.recalled(run)),
        (5, measured.called(run)),
    ):
        for agent, step, *numbers in rows:
            column = bisect_left(steps, step)
            if agent in places and column < len(steps):
                counts[start : start + len(numbers), places[agent], column] += numbers
    return Activity(list(known.values()), steps, counts)
