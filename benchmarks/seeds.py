"""Confidence intervals over the seeds of a study whose answers are cached.

    python -m benchmarks.seeds
    python -m benchmarks.seeds --studies 400 --seeds 8

A server answers C with chance 0.6, and D else. Each study has a cache file of its own, and
asks the same question with 8 seeds, 2 agents and 2 steps. The 95% interval of Student's t
over the seeds' shares of C must cover 0.6 in 92 to 98% of the studies. A second run of each
study, into another store, must send nothing.
"""

import argparse
import logging
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

from mesa_memory.experiments import Study
from tests.support.choosers import CHANCE, Choice, chance_server

#: allowed share of intervals that cover the chance
ALLOWED = (0.92, 0.98)


def cooperation(model: Choice) -> float:
    """The share of C among all answers."""
    return model.choices.count("C") / max(1, len(model.choices))


def shares(folder: Path, store: str, base: str, seeds: int) -> np.ndarray:
    """The share of C of each seed."""
    study = Study(
        Choice, {"base": [base], "cache": [str(folder / "cache.sqlite")]},
        seeds=range(seeds), steps=2, outcomes={"share": cooperation},
        store=folder / store, record=False,
    )  # fmt: skip
    study.run("serial", progress=False)
    return study.results().runs["share"].to_numpy(float)


def covers(values: np.ndarray) -> bool:
    """True if the 95% interval of the mean covers the chance."""
    width = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return bool(abs(values.mean() - CHANCE) <= width)


def main() -> None:
    """Prints the share of intervals that cover the chance, and exits with 1 outside."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=8)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    covered, sent_again = 0, 0
    with chance_server() as server:
        for _ in range(given.studies):
            with tempfile.TemporaryDirectory() as folder:
                first = shares(Path(folder), "first.sqlite", server.base, given.seeds)
                asked = len(server.log)
                second = shares(Path(folder), "second.sqlite", server.base, given.seeds)
            sent_again += len(server.log) - asked
            assert (first == second).all()
            covered += covers(first)
    share = covered / given.studies
    print(
        f"{share:.1%} of {given.studies} intervals cover {CHANCE} (92 to 98% allowed)"
    )
    print(f"requests of the second runs: {sent_again} (0 allowed)")
    sys.exit(not (ALLOWED[0] <= share <= ALLOWED[1]) or sent_again > 0)


if __name__ == "__main__":
    main()
