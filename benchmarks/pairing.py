"""Paired draws: how many runs they save when two memories are compared.

    python -m benchmarks.pairing [--seeds 16] [--workers 2] [--plot FILE.png] [--json]

The outcome is the rumour's own: the share of the town that believes the correction after
the last day. Two memories are compared by the difference of their means, in three ways:
each run with a seed of its own; the same seeds for both, and one random generator for all
(``model.rng``), from which the agents of the second memory draw once more in each step; and
the same seeds with addressed draws (``mesa_memory.experiments.draw``), with the same
additional draws.

The number of runs that an interval of a certain width needs goes with the variance of the
difference, so the ratio of two variances is the ratio of the numbers of runs. Its own 95%
interval is found by drawing the seeds again, 2,000 times (bootstrap).
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")  # nobody is asked

import numpy as np
import pandas as pd

from benchmarks.tables import options, show
from mesa_memory.examples.rumor import agents, model
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.examples.rumor.opinion import Opinion
from mesa_memory.experiments import draw

#: what is compared, and the limit: so many times fewer runs than with seeds of their own
MEMORIES = ("stlt", "long_term")
LIMIT = 5.0
OUTCOME = "believes_correction"
STEPS, PEOPLE = 40, 30
RESAMPLES = 2000
#: 97.5% of the standard normal distribution
NORMAL = 1.959964


class Person(agents.Townsperson):
    """Is asked for its opinion on the last day alone, which saves time."""

    def opinion(self) -> Opinion:
        """What it believes in the end."""
        if self.model.steps < STEPS:
            return Opinion(str(self.unique_id))
        return super().opinion()


class Drawing(Person):
    """Draws once more in each step, as a memory might that draws lots."""

    def step(self) -> None:
        """Its day."""
        agents.draw(self, "lots").random()
        super().step()


class Town(RumorModel):
    """The rumour's town."""

    person = Person


class DrawingTown(RumorModel):
    """A town in which each draws once more in each step."""

    person = Drawing


def shared(agent: Any, purpose: str, step: float | None = None) -> Any:
    """One generator for all, as Mesa's own ``model.rng`` is."""
    return getattr(agent, "model", agent).rng


def outcome(
    town: type[RumorModel], memory: str, source: Callable[..., Any], seed: int
) -> float:
    """The share that believes the correction in the end, for one run."""
    agents.draw = model.draw = source
    try:
        made = town(PEOPLE, memory, rng=seed)
        for _ in range(STEPS):
            made.step()
    finally:
        agents.draw = model.draw = draw
    return made.datacollector.model_vars[OUTCOME][-1] / PEOPLE


def arms(seeds: int, workers: int) -> pd.DataFrame:
    """The outcome of each run: a column for each memory and source of draws."""
    runs = {
        (name, kind): partial(outcome, town, name, source)
        for name, town in zip(MEMORIES, (Town, DrawingTown))
        for kind, source in (("addressed", draw), ("shared", shared))
    }
    spawn = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        found = {arm: pool.map(run, range(seeds)) for arm, run in runs.items()}
        return pd.DataFrame({arm: list(values) for arm, values in found.items()})


def variances(frame: pd.DataFrame) -> dict[str, float]:
    """The variance of the difference for one run of each memory, by design."""
    one, other = (
        (frame[name, "addressed"], frame[name, "shared"]) for name in MEMORIES
    )
    return {
        "independent seeds": float(one[0].var() + other[0].var()),
        "same seeds, one generator": float((one[1] - other[1]).var()),
        "addressed draws": float((one[0] - other[0]).var()),
    }


def gain(frame: pd.DataFrame, design: str) -> list[float]:
    """How many times fewer runs a design needs: estimate, and its 95% interval."""

    def ratio(rows: pd.DataFrame) -> float:
        found = variances(rows)
        return found["independent seeds"] / max(found[design], 1e-12)

    rng = np.random.default_rng(0)
    again = [
        ratio(frame.iloc[rng.integers(len(frame), size=len(frame))])
        for _ in range(RESAMPLES)
    ]
    return [ratio(frame), *np.quantile(again, (0.025, 0.975)).tolist()]


def plot(frame: pd.DataFrame, file: str) -> None:
    """The width of the interval by the number of runs of each memory."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    runs = np.arange(4, 201)
    styles = (("#D55E00", "--"), ("#555555", ":"), ("#0072B2", "-"))
    for (design, variance), (colour, dashes) in zip(
        variances(frame).items(), styles, strict=True
    ):
        width = 200 * NORMAL * np.sqrt(variance / runs)
        axes.loglog(
            runs, width, color=colour, linestyle=dashes, linewidth=2.4, label=design
        )
    axes.set(
        xlabel="Runs of each memory",
        ylabel="Width of the 95% interval (points of per cent)",
        title=f"{MEMORIES[1]} against {MEMORIES[0]}: who believes the correction",
        xlim=(4, 200),
    )
    axes.grid(alpha=0.25, which="both", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=160)


def main() -> None:
    """Prints a row for each design; fails below the limit."""
    given = options(__doc__, seeds=16, workers=2, plot="")
    frame = arms(given.seeds, given.workers)
    rows = []
    for design, variance in variances(frame).items():
        ratio, low, high = gain(frame, design)
        width = 200 * NORMAL * (variance / given.seeds) ** 0.5
        rows.append(
            {"design": design, "width in points": width, "times fewer runs": ratio}
            | {"at least": low, "at most": high}
        )
    means = (f"{n} {100 * frame[n, 'addressed'].mean():.1f}%" for n in MEMORIES)
    title = f"{OUTCOME}, day {STEPS}, {given.seeds} seeds: {', '.join(means)}"
    show(title, rows, as_json=given.json)
    if given.plot:
        plot(frame, given.plot)
    if ratio < LIMIT:
        sys.exit(f"addressed draws save {ratio:.1f} times, less than {LIMIT:g}")


if __name__ == "__main__":
    main()
