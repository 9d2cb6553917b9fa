"""What the sentences of a comparison are worth: simulated studies, beside the figures of a review.

    python -m benchmarks.claims [--studies 2000]

nulls      The same effect at both levels: the share of studies whose difference of effects
           is called one (at most 0.055), and whose interval covers 0 (0.93 to 0.97).
equal      An arm collapses in 15% of the seeds, so that its mean is 0.105 lower: the share
           of studies that state no difference larger than 0.1, by t and with ``bounds``.
means      Equal means, and an arm that collapses in 15% of the seeds: the share whose
           interval covers 0, by t and with ``bounds``.
power      Of ``seeds_for_power(1, dz)`` with 1, 2, 4 and 8 contrasts: seeds, and the share
           of studies that find the effect; 0.8 is asked for.
looks      The level of each look of a plan, and the one that simulated studies need.
"""

import argparse
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from mesa_memory.statistics.comparison import compare
from mesa_memory.statistics.difference import PairedDifference
from mesa_memory.statistics.power import level_of_looks, seeds_for_power
from tests.statistics.test_interaction import heavy, normal, null_study, tipping

SEEDS, MARGIN, COLLAPSING = (6, 10, 20), 0.1, 0.15
SHARES = (0.0, 1.0)


def nulls(studies: int) -> None:
    """Differences of effects that are none."""
    for world, seeds in itertools.product((normal, heavy, tipping), SEEDS):
        rng = np.random.default_rng(5)
        found = [null_study(rng, world, seeds) for _ in range(studies)]
        called = np.mean([each.p_holm < 0.05 for each in found])
        covered = _covering([each.difference for each in found])
        print(
            f"nulls {world.__name__} {seeds}: {called:.3f} called, {covered:.3f} covered"
        )


def equal(studies: int) -> None:
    """Equivalence of an arm that seldom collapses."""
    for seeds, bounds in itertools.product(SEEDS, (None, SHARES)):
        rng, told = np.random.default_rng(1), 0
        for _ in range(studies):
            base = 0.8 + rng.normal(0, 0.01, seeds)
            arm = base + rng.normal(0, 0.01, seeds)
            arm[rng.random(seeds) < COLLAPSING] = 0.1
            told += "no difference larger than" in _compared(base, arm, bounds)
        print(f"equal {seeds} {bounds or 't'}: {told / studies:.3f} of studies")


def _compared(
    base: np.ndarray, arm: np.ndarray, bounds: tuple[float, float] | None
) -> str:
    values = {
        "memory": ["none", "arm"],
        "x": [base, arm],
        "seed": [range(len(base))] * 2,
    }
    frame = pd.DataFrame(values).explode(["x", "seed"]).infer_objects()
    frame = frame.assign(replicate=0, state="finished")
    given = {"outcome": "x", "base": "none", "margin": MARGIN}
    return str(compare(frame, "memory", bounds=bounds, **given))


def means(studies: int) -> None:
    """Intervals of equal means and another shape."""
    for seeds, bounds in itertools.product(SEEDS, (None, SHARES)):
        rng = np.random.default_rng(2)
        tips = (rng.random((studies, seeds)) < COLLAPSING) * -0.7 + 0.7 * COLLAPSING
        found = _differences(tips + rng.normal(0, 0.02, tips.shape), bounds)
        called = np.mean([each.p < 0.05 for each in found])
        covered = _covering(found)
        print(
            f"means {seeds} {bounds or 't'}: {covered:.3f} covered, {called:.3f} differ"
        )


def power(studies: int) -> None:
    """Planned seeds, by the test that gives the verdict."""
    for dz, contrasts in itertools.product((1.5, 1.0, 0.7), (1, 2, 4, 8)):
        seeds = seeds_for_power(1.0, dz, 0.8, contrasts)
        draws = np.random.default_rng(11).normal(dz, 1, (studies, seeds))
        reached = np.mean([d.p < 0.05 / contrasts for d in _differences(draws, None)])
        print(f"power dz {dz}, {contrasts} contrasts: {seeds} seeds, {reached:.2f}")


def looks(studies: int) -> None:
    """Levels of looks."""
    for each in ((10, 20, 40), (6, 8), (8, 16, 32), (10, 20)):
        draws = np.random.default_rng(3).normal(size=(50 * studies, each[-1]))
        z = [np.abs(draws[:, :n].sum(1)) / np.sqrt(n) for n in each]
        ps = 2 * stats.norm.sf(np.max(z, axis=0))
        print(
            f"looks {each}: {level_of_looks(each):.4f}, simulated {np.quantile(ps, 0.05):.4f}"
        )


def _differences(
    values: np.ndarray, bounds: tuple[float, float] | None
) -> list[PairedDifference]:
    return [PairedDifference(tuple(row.tolist()), bounds) for row in values]


def _covering(found: Sequence[PairedDifference]) -> float:
    intervals = [each.interval() for each in found]
    return float(np.mean([low <= 0 <= high for low, high in intervals]))


PARTS: tuple[tuple[Callable[[int], None], int], ...] = (
    (nulls, 1), (equal, 8), (means, 8), (power, 4), (looks, 1),
)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=2_000)
    number = parser.parse_args().studies
    for part, divisor in PARTS:
        part(number // divisor)
