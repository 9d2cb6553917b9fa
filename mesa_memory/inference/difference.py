"""The differences of an arm from its base, one for each seed, and what they show."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

#: up to this number of seeds all 2 ** n flips of the signs are tried; beyond it, some
MAX_EXACT_SEEDS, RESAMPLES = 12, 9_999
#: below it, intervals are rough
FEW_SEEDS = 10
#: of the largest difference, what may be rounding
ROUNDING = 1e-9
#: signs that a few seeds tip: a gap as a share of the range, and the skewness
TIPPING_GAP, TIPPING_SKEWNESS = 0.5, 1.5


@dataclass(frozen=True)
class PairedDifference:
    """Paired differences: outcome of the arm less outcome of the base at the same seed.

    Attributes:
        values: one for each seed, in the order of the seeds; at least two.
    """

    values: tuple[float, ...]

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
        """The t interval of the mean difference."""
        if self.constant:
            return self.mean, self.mean
        found = stats.ttest_1samp(self.values, 0).confidence_interval(confidence)
        return float(found.low), float(found.high)

    @cached_property
    def p(self) -> float:
        """The two-sided p of a sign-flip test: exact to 12 seeds, else 9,999 flips.

        If the arms are exchangeable, it is valid for differences of any shape.
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
        """Cohen's dz: mean by standard deviation of the differences; None without any."""
        return None if self.constant else self.mean / self.sd

    @property
    def agreeing(self) -> float:
        """The share of seeds whose difference has the sign of the mean, 0 to 1."""
        return float(np.mean(np.sign(self.values) == np.sign(self.mean)))

    def equivalence(self, margin: float) -> float:
        """The p of two one-sided t tests: is the difference within ``±margin``?"""
        if self.constant:
            return 0.0 if abs(self.mean) < margin else 1.0
        above = stats.ttest_1samp(self.values, -margin, alternative="greater").pvalue
        below = stats.ttest_1samp(self.values, margin, alternative="less").pvalue
        return float(max(above, below))

    @cached_property
    def tipping(self) -> tuple[int, ...] | None:
        """The places of the seeds on the smaller side of the widest gap, if they tip.

        They do if one gap between the sorted differences is wider than half of their
        range, or if their skewness is beyond ±1.5: then the t interval may be too short.
        """
        if self.constant or self.seeds < 3:
            return None
        order = np.argsort(self.values, kind="stable")
        found = np.array(self.values)[order]
        gaps = np.diff(found)
        wide = gaps.max() > TIPPING_GAP * (found[-1] - found[0])
        if not wide and abs(stats.skew(found)) <= TIPPING_SKEWNESS:
            return None
        below = int(gaps.argmax()) + 1
        few = order[:below] if 2 * below <= self.seeds else order[below:]
        return tuple(sorted(few.tolist()))


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
