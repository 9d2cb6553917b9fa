"""Differences between an arm and its base, and numbers as a paper prints them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

#: up to this number of seeds all 2 ** n flips of the signs are tried; beyond it, some
MAX_EXACT_SEEDS, RESAMPLES = 12, 9_999
#: below it, intervals are rough
FEW_SEEDS = 10
#: points of the grid of an interval for bounded outcomes, and the largest part of what
#: is left that is bet on one difference
GRID_POINTS, LARGEST_BET = 2_001, 0.5
#: of the largest difference, what may be rounding
ROUNDING = 1e-9
#: signs that a few seeds tip: a gap as a share of the range, and the skewness
TIPPING_GAP, TIPPING_SKEWNESS = 0.5, 1.5
#: part of the mean; seeds with a narrower gap between them do not tip
SMALL_GAP = 0.25


@dataclass(frozen=True)
class PairedDifference:
    """Paired differences: outcome of the arm minus outcome of the base at the same seed.

    Attributes:
        values: one for each seed, in the order of the seeds; at least two.
        bounds: of the outcome; the interval then holds for any shape. None uses t.
    """

    values: tuple[float, ...]
    bounds: tuple[float, float] | None = None

    @property
    def seeds(self) -> int:
        """The number of differences."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """The mean difference."""
        return float(np.mean(self.values))

    @cached_property
    def sd(self) -> float:
        """The standard deviation of the differences, with n - 1."""
        return 0.0 if self.constant else float(np.std(self.values, ddof=1))

    @property
    def constant(self) -> bool:
        """True if all differences are equal, but for rounding."""
        return bool(np.ptp(self.values) <= ROUNDING * np.max(np.abs(self.values)))

    @property
    def equal(self) -> bool:
        """True if the arm equals the base at each seed."""
        return set(self.values) == {0.0}

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of the mean difference: by bets with ``bounds``, else by t."""
        if self.bounds is not None:
            widest = self.bounds[1] - self.bounds[0]
            return bounded_interval(self.values, -widest, widest, confidence)
        if self.constant:
            return self.mean, self.mean
        found = stats.ttest_1samp(self.values, 0).confidence_interval(confidence)
        return float(found.low), float(found.high)

    @cached_property
    def p(self) -> float:
        """The two-sided p of a sign-flip test: exact to 12 seeds, else 9,999 flips.

        It tests that the arms are exchangeable: arms of equal means and other spread
        or shape are called different, too.
        """
        if self.equal:
            return 1.0
        found = stats.permutation_test(
            (np.array(self.values),),
            np.mean,
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf if self.seeds <= MAX_EXACT_SEEDS else RESAMPLES,
            rng=np.random.default_rng(0),
        )
        return float(found.pvalue)

    @property
    def dz(self) -> float | None:
        """Cohen's dz: mean divided by the standard deviation of the differences; None without any."""
        return None if self.constant else self.mean / self.sd

    @property
    def agreeing(self) -> float:
        """The share of seeds whose difference has the sign of the mean, 0 to 1."""
        return float(np.mean(np.sign(self.values) == np.sign(self.mean)))

    def equivalence(self, margin: float) -> float | None:
        """The p of two one-sided t tests: is the difference within ``±margin``?

        None below six seeds, without variance, and with ``bounds``, whose interval tells.
        """
        if self.constant or self.bounds or self.seeds < seeds_to_decide(1):
            return None
        above = stats.ttest_1samp(self.values, -margin, alternative="greater").pvalue
        below = stats.ttest_1samp(self.values, margin, alternative="less").pvalue
        return float(max(above, below))

    @cached_property
    def tipping(self) -> tuple[int, ...] | None:
        """The places of the seeds on the smaller side of the widest gap, if they tip.

        They do if one gap between the sorted differences is wider than half of their
        range, or if their skewness is beyond ±1.5: then the t interval may be too short.
        A gap of less than a quarter of the mean tells no seed from the others: counts of
        7 and 8 have one, too.
        """
        if self.constant or self.seeds < 3:
            return None
        order = np.argsort(self.values, kind="stable")
        found = np.array(self.values)[order]
        gaps = np.diff(found)
        if gaps.max() < SMALL_GAP * abs(self.mean):
            return None
        wide = gaps.max() > TIPPING_GAP * (found[-1] - found[0])
        if not wide and abs(stats.skew(found)) <= TIPPING_SKEWNESS:
            return None
        below = int(gaps.argmax()) + 1
        few = order[:below] if 2 * below <= self.seeds else order[below:]
        return tuple(sorted(few.tolist()))


@dataclass(frozen=True)
class GroupDifference:
    """The mean of one group minus the mean of another.

    Attributes:
        values: outcomes of the group, at least two.
        base: outcomes of the other group, at least two.
    """

    values: Sequence[float]
    base: Sequence[float]

    @property
    def mean(self) -> float:
        """The difference of the means; exactly 0 if all outcomes are equal."""
        start = self.base[0]  # the mean of equal numbers may differ from them in a bit
        values, base = np.subtract(self.values, start), np.subtract(self.base, start)
        return float(values.mean() - base.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval by Welch's t; the mean alone if no value differs in a group."""
        if np.ptp(self.values) == 0 and np.ptp(self.base) == 0:
            return self.mean, self.mean
        found = stats.ttest_ind(self.values, self.base, equal_var=False)
        low, high = found.confidence_interval()
        return float(low), float(high)

    @property
    def p(self) -> float:
        """The two-sided p of a permutation test: exact if few, else 9,999 permutations."""
        if len({*self.values, *self.base}) == 1:
            return 1.0
        found = stats.permutation_test(
            (np.array(self.values), np.array(self.base)),
            _difference,
            vectorized=True,
            n_resamples=RESAMPLES,
            rng=np.random.default_rng(0),
        )
        return float(found.pvalue)


def _difference(values: np.ndarray, base: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(values, axis=axis) - np.mean(base, axis=axis)


def bounded_interval(
    values: Sequence[float], low: float, high: float, confidence: float = 0.95
) -> tuple[float, float]:
    """An interval for the mean of bounded values, which covers it for any shape.

    A bet on each mean in turn wins if the mean is wrong; the interval has the means
    against which no bet won ``1 / (1 - confidence)`` times its stake (Waudby-Smith and
    Ramdas, 2024, hedged capital).

    Args:
        values: in an order that does not depend on them.
        low, high: bounds of each value.
    """
    found = (np.array(values) - low) / (high - low)
    size, wanted = len(found), np.log(2 / (1 - confidence))
    count = np.arange(1, size + 1)
    means = (0.5 + np.cumsum(found)) / (count + 1)
    spread = (0.25 + np.cumsum((found - means) ** 2)) / (count + 1)
    stakes = np.sqrt(2 * wanted / (size * np.array([0.25, *spread[:-1]])))[:, None]
    grid = np.linspace(0, 1, GRID_POINTS)[1:-1]
    off = found[:, None] - grid
    above = np.log1p(np.minimum(stakes, LARGEST_BET / grid) * off)
    below = np.log1p(-np.minimum(stakes, LARGEST_BET / (1 - grid)) * off)
    won = np.maximum(np.cumsum(above, axis=0), np.cumsum(below, axis=0)).max(axis=0)
    left = grid[won <= max(wanted, won.min())]
    step = 1 / (GRID_POINTS - 1)
    first, last = max(0.0, left[0] - step), min(1.0, left[-1] + step)
    return low + (high - low) * float(first), low + (high - low) * float(last)


def share(part: int, of: int) -> tuple[float, float, float]:
    """A share and its 95% interval by Wilson's method."""
    found = stats.binomtest(part, of).proportion_ci(method="wilson")
    return part / of, float(found.low), float(found.high)


def seeds_to_decide(arms: int, level: float = 0.05) -> int:
    """The fewest seeds with which one of several sign-flip tests can fall below a level.

    With n seeds the smallest p is ``2 / 2 ** n``; Holm's correction multiplies it by the
    number of arms.
    """
    seeds = 1
    while arms * 2 / 2**seeds >= level:
        seeds += 1
    return seeds


def holm(ps: list[float]) -> list[float]:
    """The p values corrected for their number (Holm, 1979), in the same order."""
    order = np.argsort(ps, kind="stable")
    steps = np.array(ps)[order] * np.arange(len(ps), 0, -1)
    found = np.empty(len(ps))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return found.tolist()


def number(value: float) -> str:
    """A number with three digits, such as 0.0231 and 12.3; no exponent if avoidable."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def signed(value: float) -> str:
    """The same with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)


def p_of(p: float) -> str:
    """A p value with three decimals, or ``<0.001``."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def said_p(p: float) -> str:
    """The same as ``p = 0.012`` or ``p < 0.001``."""
    return f"p = {p_of(p)}" if p >= 0.001 else "p < 0.001"
