"""A number of several runs by step; runs that differ in their seeds alone as one band."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mesa_memory.runs import Run
from mesa_memory.runs.compare import differing_parameters
from mesa_memory.viz.data.requests import cost
from mesa_memory.viz.data.spread import spread
from mesa_memory.viz.data.story import scene
from mesa_memory.viz.run_names import RunFacts

#: measures of every run: label and unit
SPENT = {
    "calls": ("calls until the step", "calls"),
    "tokens": ("tokens until the step", "tokens"),
    "cost": ("money until the step", "US dollars"),
}
#: parameters that are seeds
SEED_NAMES = ("rng", "seed")


@dataclass(frozen=True)
class Band:
    """A number of runs that differ in their seeds alone.

    Attributes:
        label: tells them from the page's other runs.
        runs: their number.
        mean, low, high: by step, of the runs that have the step and know the number;
            NaN without one.
    """

    label: str
    runs: int
    mean: pd.Series
    low: pd.Series
    high: pd.Series


def collected(run: Run) -> dict[str, pd.Series]:
    """For each of the model's variables, the numbers that are known, by step."""
    found = scene.scene(run)
    return {
        name: pd.Series(values, found.steps).dropna()
        for name, values in found.collected.items()
    }


def spent(run: Run, measure: str) -> pd.Series:
    """The sum of a measure of ``SPENT`` until each step; none from an unknown one on."""
    found = cost.spent(run)
    sums = found.counts[measure].sum(axis=0).cumsum()
    return pd.Series(sums, found.steps).dropna()


def holders(run: Run, text: str) -> pd.Series:
    """Number of holders of a memory that states a text at each step; see ``runs.claims``."""
    held = spread.holding(spread.found(run, text))
    return pd.Series(held.holders, held.steps)


def groups(
    facts: Sequence[RunFacts], memories: Sequence[str]
) -> list[tuple[str, list]]:
    """Runs that differ in their seeds alone, under a label; in order of their first.

    Args:
        facts: of each run.
        memories: names of their memories.
    """
    given = [
        {
            name: value
            for name, value in one.parameters.items()
            if name not in SEED_NAMES
        }
        for one in facts
    ]
    found: dict[str, list[int]] = {}
    for place, (one, memory) in enumerate(zip(facts, memories)):
        made = repr((one.model, memory, sorted(given[place].items()), one.forked))
        found.setdefault(made, []).append(place)
    apart = differing_parameters([given[places[0]] for places in found.values()])
    labels = [
        _label(facts[places[0]], memories[places[0]], differs)
        for places, differs in zip(found.values(), apart)
    ]
    return [
        (label if labels.count(label) == 1 else f"{label} ({n})", places)
        for n, (label, places) in enumerate(zip(labels, found.values()), 1)
    ]


def bands(
    grouped: Sequence[tuple[str, list[int]]], values: Sequence[pd.Series]
) -> list[Band]:
    """A band for each group, at all steps of the runs.

    Args:
        grouped: of ``groups``.
        values: the number of each run, by step.
    """
    table = pd.concat(values, axis=1, keys=range(len(values)), sort=True)
    found = []
    for label, places in grouped:
        of_step = table[places].agg(["mean", "min", "max"], axis=1)
        found.append(Band(label, len(places), *(of_step[name] for name in of_step)))
    return found


def _label(one: RunFacts, memory: str, differs: Mapping[str, Any]) -> str:
    told = [f"{name} {value}" for name, value in differs.items() if name != "memory"]
    return " · ".join(part for part in (memory or one.model, *told, one.forked) if part)
