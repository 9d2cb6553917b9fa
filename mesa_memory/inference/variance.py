"""The parts of the variance of a difference, and the runs that pairing saves."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pairing:
    """The gain of pairing by seed, compared with as many runs of other seeds.

    Attributes:
        rho: correlation of both arms over seeds; None if one of them is constant.
        ratio: variance of an unpaired difference by the variance of a paired one; None
            if the paired differences are constant. Below 1, pairing costs.
    """

    rho: float | None
    ratio: float | None

    @classmethod
    def of(cls, arm: np.ndarray, base: np.ndarray) -> "Pairing":
        """The pairing of two arms, with a value for each seed."""
        apart = np.var(arm, ddof=1) + np.var(base, ddof=1)
        paired = np.var(np.subtract(arm, base), ddof=1)
        constant = np.ptp(arm) == 0 or np.ptp(base) == 0
        return cls(
            None if constant else float(np.corrcoef(arm, base)[0, 1]),
            None if paired < 1e-12 * apart or paired == 0 else float(apart / paired),
        )

    def saved(self, seeds: int) -> int | None:
        """The runs that unpaired arms would need in addition to ``2 * seeds``."""
        return None if self.ratio is None else round((self.ratio - 1) * 2 * seeds)


@dataclass(frozen=True)
class Parts:
    """Parts of the variance of the difference of two single runs.

    Attributes:
        seed: what both arms share at a seed; pairing removes it.
        seed_by_arm: how the effect differs between seeds; more seeds reduce it.
        model: how runs of one seed differ; replicates reduce it, too.
    """

    seed: float
    seed_by_arm: float
    model: float

    @classmethod
    def of(cls, arm: np.ndarray, base: np.ndarray) -> "Parts":
        """The parts, estimated from the differences (method of moments).

        The pair is (seed, replicate): replicates may share the noise of a common
        beginning, which the variance of each arm alone does not show.

        Args:
            arm: outcomes of shape (seeds, replicates), at least 2 x 2.
            base: the same of the base.
        """
        differences = arm - base
        model = float(np.mean(np.var(differences, axis=1, ddof=1)))
        means = np.var(differences.mean(axis=1), ddof=1)
        both = np.cov(arm.mean(axis=1), base.mean(axis=1))[0, 1]
        own = means - model / arm.shape[1]
        return cls(max(0.0, 2 * float(both)), max(0.0, float(own)), model)
