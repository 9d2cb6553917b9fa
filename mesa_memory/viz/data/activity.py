"""How much every agent did in every step, as arrays that grow with the run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.runs import Run
from mesa_memory.viz.data import reading

#: what is counted for each agent and step, in the order of the arrays
COUNTED = (
    "events", "made", "grades", "graded", "recalls", "calls", "tokens", "cost",
    "unpriced",
)  # fmt: skip
#: number of newest steps that are read again: a grade may come some steps late
REREAD_STEPS = 12


@dataclass(frozen=True)
class Activity:
    """What happened per agent and step.

    Attributes:
        agents: the unique ids, in order.
        steps: the finished steps.
        counts: shape (COUNTED, agents, steps), float32. What came between two steps
            counts to the later one.
    """

    agents: list[Any]
    steps: list[float]
    counts: np.ndarray

    def __getitem__(self, name: str) -> np.ndarray:
        """One of ``COUNTED``, shape (agents, steps)."""
        return self.counts[COUNTED.index(name)]


def activity(run: Run, before: Activity | None = None) -> Activity:
    """What happened until now.

    Args:
        before: what was found earlier; then only what is new is read.
    """
    ends = reading.ends(run)
    steps = [step for step, _ in ends]
    known = run.unique_ids
    agents = list(known.values())
    first = _kept(before, agents, steps)
    counts = np.zeros((len(COUNTED), len(agents), len(steps)), dtype=np.float32)
    if before is not None and first:
        counts[:, :, :first] = before.counts[:, :, :first]
    since, after = ends[first - 1] if first else (float("-inf"), -1)
    places = {name: place for place, name in enumerate(known)}
    for start, rows in (
        (0, reading.remembered(run, after)),
        (4, reading.recalled(run, since)),
        (5, reading.called(run, since)),
    ):
        _add(counts[start:], rows, places, np.array(steps), first)
    return Activity(agents, steps, counts)


def _kept(before: Activity | None, agents: list[Any], steps: list[float]) -> int:
    """How many steps need not be read again."""
    if before is None or before.agents != agents:
        return 0
    old = before.steps
    return max(0, len(old) - REREAD_STEPS) if steps[: len(old)] == old else 0


def _add(
    counts: np.ndarray,
    rows: Iterable[tuple],
    places: dict[str, int],
    times: np.ndarray,
    first: int,
) -> None:
    """Adds rows of (agent, step, number, …) where they belong."""
    rows = [row for row in rows if row[0] in places]
    if not rows or not len(times):
        return
    agents, steps, *numbers = zip(*rows)
    columns = np.searchsorted(times, np.array(steps, dtype=float))
    usable = (columns >= first) & (columns < len(times))
    at = np.array([places[name] for name in agents])[usable], columns[usable]
    for layer, values in zip(counts, numbers):
        np.add.at(layer, at, np.array(values, dtype=np.float32)[usable])
