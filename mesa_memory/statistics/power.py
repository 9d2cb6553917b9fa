"""Numbers of seeds: for a test, for an interval, and at each look."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import sqrt

import numpy as np
from scipy import optimize, stats

from mesa_memory.statistics.difference import MAX_EXACT_SEEDS, ROUNDING, seeds_to_decide

#: beyond which the answer is no number of seeds that anybody runs
MAX_SEEDS = 1_000_000
#: a mean by its standard error, from which a test cannot miss it
CERTAIN = 30
#: of differences, to find the power of a test of few seeds
DRAWS = 2_000


def seeds_for_power(
    sd: float, effect: float, power: float = 0.8, contrasts: int = 1
) -> int:
    """The seeds that the sign-flip test of ``compare`` needs, at 5% and two-sided.

    The level of each of several contrasts is 5% by their number, which is Holm's first
    step. Differences are taken to be normal.

    Args:
        sd: standard deviation of the paired differences.
        effect: the mean difference that must be found.
        power: probability of finding it, between 0 and 1.
        contrasts: the number of arms that are compared with the base.

    Raises:
        ValueError: for a number out of its range, or an effect beyond reach.
    """
    if not 0 < power < 1 or effect == 0:
        raise ValueError(
            "power must be between 0 and 1 and effect not 0, "
            f"got power={power!r} and effect={effect!r}"
        )
    shift = min(abs(effect) / sd, CERTAIN) if sd else CERTAIN
    level = 0.05 / contrasts

    def enough(seeds: int) -> bool:
        exact = seeds <= MAX_EXACT_SEEDS
        reached = _of_flips if exact else _of_t
        return reached(seeds, shift, level) >= power

    return _least(enough, f"an effect of {effect:g}", seeds_to_decide(contrasts))


def _of_flips(seeds: int, shift: float, level: float) -> float:
    """The power of a sign-flip test, by draws: its p has few values at few seeds."""
    flips = 1.0 - 2.0 * ((np.arange(2 ** (seeds - 1))[:, None] >> np.arange(seeds)) & 1)
    draws = np.random.default_rng(0).normal(shift, 1.0, (DRAWS, seeds))
    sums = np.abs(draws @ flips.T)
    ps = np.mean(sums >= sums[:, :1] * (1 - ROUNDING), axis=1)
    return float(np.mean(ps < level))


def _of_t(seeds: int, shift: float, level: float) -> float:
    """The power of a t test, which a sign-flip test of many seeds has, too."""
    far, limit = shift * sqrt(seeds), stats.t.ppf(1 - level / 2, seeds - 1)
    if far > CERTAIN:
        return 1.0
    above = stats.nct.sf(limit, seeds - 1, far)
    return float(above + stats.nct.cdf(-limit, seeds - 1, far))


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


def range_of_sd(sd: float, seeds: int) -> tuple[float, float]:
    """The 80% interval of a standard deviation that normal differences have shown."""
    low, high = stats.chi2.ppf((0.9, 0.1), seeds - 1)
    return sd * sqrt((seeds - 1) / low), sd * sqrt((seeds - 1) / high)


def _least(enough: Callable[[int], bool], wanted: str, least: int = 6) -> int:
    """The least number of seeds that is enough, by doubling and halving."""
    low = high = least
    while not enough(high):
        low, high = high + 1, 2 * high
        if high > MAX_SEEDS:
            raise ValueError(
                f"{wanted} needs more than {MAX_SEEDS:,} seeds at this spread"
            )
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
