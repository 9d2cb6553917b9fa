"""The whole population: who did how much when."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.viz.data.activity import Activity

#: what the heat map can show: its label, and what one number means
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
class Heat:
    """A number for each agent and step.

    Attributes:
        values: shape (agents, steps); NaN where there is none, as for the mean grade of
            no event, or the cost of a request without a price.
    """

    agents: list[Any]
    steps: list[float]
    values: np.ndarray


def heat(activity: Activity, measure: str) -> Heat:
    """The numbers of one of ``MEASURES``.

    Raises:
        ValueError: for another measure.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure is one of {', '.join(MEASURES)}, got {measure!r}")
    if measure == "importance":
        graded = activity["graded"]
        values = np.where(
            graded > 0, activity["grades"] / np.maximum(graded, 1), np.nan
        )
    elif measure == "cost":
        values = np.where(activity["unpriced"] > 0, np.nan, activity["cost"])
    else:
        values = activity[measure]
    return Heat(activity.agents, activity.steps, values.astype(np.float32))


def totals(activity: Activity, step: float) -> dict[str, float | None]:
    """The sums of a step over all agents; an unknown one is None."""
    place = activity.steps.index(step)
    found: dict[str, float | None] = {}
    for name in ("events", "made", "recalls", "calls", "tokens"):
        found[name] = float(activity[name][:, place].sum())
    graded = float(activity["graded"][:, place].sum())
    grades = float(activity["grades"][:, place].sum())
    found["importance"] = grades / graded if graded else None
    priced = not activity["unpriced"][:, place].any()
    found["cost"] = float(activity["cost"][:, place].sum()) if priced else None
    return found
