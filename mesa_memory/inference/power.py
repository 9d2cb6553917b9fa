"""Numbers of seeds: for a test, for an interval, and at each look."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import ceil, sqrt

import numpy as np
from scipy import optimize, stats

from mesa_memory.inference.difference import seeds_to_decide

#: beyond which the answer is no number of seeds that anybody runs
MAX_SEEDS = 1_000_000
#: a mean by its standard error, from which a test cannot miss it
CERTAIN = 30


def seeds_for_power(sd: float, effect: float, power: float = 0.8) -> int:
    """The seeds that a paired t test needs, at 5% and two-sided; at least 6.

    Args:
        sd: standard deviation of the paired differences.
        effect: the mean difference that must be found.
        power: probability of finding it, between 0 and 1.

    Raises:
        ValueError: for a number out of its range, or an effect beyond reach.
    """
    if not 0 < power < 1 or effect == 0:
        raise ValueError(
            "power must be between 0 and 1 and effect not 0, "
            f"got power={power!r} and effect={effect!r}"
        )

    def enough(seeds: int) -> bool:
        limit = stats.t.ppf(0.975, seeds - 1)
        shift = abs(effect) / sd * sqrt(seeds) if sd else np.inf
        if shift > CERTAIN:
            return True
        reached = stats.nct.sf(limit, seeds - 1, shift)
        return reached + stats.nct.cdf(-limit, seeds - 1, shift) >= power

    return _least(enough, f"an effect of {effect:g}")


def seeds_for_width(sd: float, half_width: float) -> int:
    """The seeds after which a 95% t interval of the mean is ``±half_width``; at least 6.

    Raises:
        ValueError: for a half width that is not positive, or beyond reach.
    """
    if half_width <= 0:
        raise ValueError(f"half_width must be positive, got {half_width!r}")

    def enough(seeds: int) -> bool:
        return stats.t.ppf(0.975, seeds - 1) * sd / sqrt(seeds) <= half_width

    return _least(enough, f"a half width of {half_width:g}")


def seeds_of_stein(sd: float, pilot: int, half_width: float) -> int:
    """The seeds of Stein's two-stage procedure (1945), those of the pilot included.

    The t quantile has the degrees of freedom of the pilot, so that the interval
    mean ± half_width covers 95% although the number of seeds depends on the data.
    """
    return max(pilot, ceil((stats.t.ppf(0.975, pilot - 1) * sd / half_width) ** 2))


def _least(enough: Callable[[int], bool], wanted: str) -> int:
    """The least number of seeds from 6 that is enough, by doubling and halving."""
    high = seeds_to_decide(1)
    while not enough(high):
        high *= 2
        if high > MAX_SEEDS:
            raise ValueError(
                f"{wanted} needs more than {MAX_SEEDS:,} seeds at this spread"
            )
    low = max(seeds_to_decide(1), high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


@cache
def level_of_looks(looks: tuple[int, ...], alpha: float = 0.05) -> float:
    """The p below which each look may stop a study, so that all together err ``alpha``.

    Equal levels at all looks (Pocock, 1977), by the recursion of Armitage, McPherson
    and Rowe (1969) for a normal mean.

    Args:
        looks: numbers of seeds at which the data are looked at, increasing.
        alpha: the share of null studies that may find an effect.
    """
    if len(looks) == 1:
        return alpha
    z = optimize.brentq(lambda z: _errs(looks, z) - alpha, 1.0, 6.0, xtol=1e-8)
    return float(2 * stats.norm.sf(z))


def _errs(looks: tuple[int, ...], z: float, points: int = 801) -> float:
    """The share of null studies that are beyond ``±z`` at one of the looks."""
    limit = z * sqrt(looks[0])
    sums = np.linspace(-limit, limit, points)
    density = stats.norm.pdf(sums, scale=sqrt(looks[0]))
    for before, now in pairwise(looks):
        limit = z * sqrt(now)
        new = np.linspace(-limit, limit, points)
        spread = stats.norm.pdf(new[:, None] - sums, scale=sqrt(now - before))
        density = np.trapezoid(spread * density, sums, axis=1)
        sums = new
    return float(1 - np.trapezoid(density, sums))
