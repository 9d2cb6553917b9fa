"""The difference between two groups of independent runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

#: permutations of a test that has more than these
RESAMPLES = 9_999


@dataclass(frozen=True)
class GroupDifference:
    """The mean of one group less the mean of another.

    Attributes:
        values: outcomes of the group, at least two.
        base: outcomes of the other group, at least two.
    """

    values: Sequence[float]
    base: Sequence[float]

    @property
    def mean(self) -> float:
        """The difference of the means."""
        return float(np.mean(self.values) - np.mean(self.base))

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
