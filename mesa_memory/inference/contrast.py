"""One arm of a study against the base, and the sentences that its differences allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.inference.difference import PairedDifference, seeds_to_decide, share
from mesa_memory.inference.numbers import number, said_p, signed
from mesa_memory.inference.variance import Pairing, Parts

#: seeds that are named in a sentence
MAX_NAMED_SEEDS = 3


@dataclass(frozen=True)
class Contrast:
    """One arm against the base.

    Attributes:
        arm: its level of the factor.
        mean: of its outcome, over seeds.
        difference: arm less base, at each seed.
        pairing: what pairing by seed saves.
        p_holm: the sign-flip p, corrected for the number of arms.
        parts: of the variance, if there are replicates.
    """

    arm: Any
    mean: float
    difference: PairedDifference
    pairing: Pairing
    p_holm: float
    parts: Parts | None = None

    @property
    def interval(self) -> str:
        """The 95% interval of the mean difference, as text."""
        low, high = self.difference.interval()
        return f"[{number(low)}, {number(high)}]"

    def verdict(self, outcome: str, base: Any, level: float, arms: int) -> str:
        """The conclusion that the differences allow, in one sentence.

        Args:
            outcome, base: their names.
            level: a smaller p is called a difference.
            arms: the number of arms that are compared with the base.
        """
        difference, arm, seeds = self.difference, self.arm, self.difference.seeds
        if difference.equal:
            return f"{arm}: equal to {base} in all {seeds} seeds."
        told = f"{self.interval}, {said_p(self.p_holm)}"
        if self.p_holm < level:
            more = "higher" if difference.mean > 0 else "lower"
            size = number(abs(difference.mean))
            return f"{arm}: {outcome} is {size} {more} than with {base} ({told})."
        needed = seeds_to_decide(arms, level)
        if seeds < needed:
            against = f" for {arms} arms" if arms > 1 else ""
            return (
                f"{arm}: no verdict ({told}); {seeds} seeds cannot decide, as a sign-flip "
                f"test{against} needs {needed} to reach p < {level:g}."
            )
        low, high = difference.interval()
        if not low <= 0 <= high:
            return (
                f"{arm}: undecided ({told}); the interval leaves out 0, but the sign-flip "
                "test does not exclude that the arms are equal."
            )
        return f"{arm}: no difference from {base} was shown ({told})."

    def findings(
        self, margin: float | None, level: float, seeds: Sequence[Any]
    ) -> list[str]:
        """Sentences on equivalence, tipping and the parts of the variance.

        Args:
            margin: the largest difference that counts as none; None tests none.
            level: as for ``verdict``.
            seeds: the names of the seeds.
        """
        difference, arm, told = self.difference, self.arm, []
        if margin is not None and not difference.equal:
            told.append(f"{arm}: {self._equivalence(margin, self.p_holm < level)}.")
        if few := difference.tipping:
            part, low, high = share(len(few), difference.seeds)
            named = ", ".join(
                f"{seeds[at]}: {signed(difference.values[at])}"
                for at in few[:MAX_NAMED_SEEDS]
            )
            more = ", …" if len(few) > MAX_NAMED_SEEDS else ""
            verb = "differs" if len(few) == 1 else "differ"
            told.append(
                f"{arm}: {len(few)} of {difference.seeds} seeds ({part:.0%} [{low:.0%}, "
                f"{high:.0%}]) {verb} clearly from the others (seed {named}{more}), so "
                "this interval may be too short: look at the plot."
            )
        if self.parts:
            parts = self.parts
            told.append(
                f"{arm}: variance of the difference of two runs: seed {number(parts.seed)} "
                f"(removed by pairing), seed x arm {number(parts.seed_by_arm)}, model "
                f"{number(parts.model)}."
            )
        return told

    def _equivalence(self, margin: float, differs: bool) -> str:
        """The result of the equivalence test, which never denies a difference shown."""
        difference = self.difference
        told = said_p(p := difference.equivalence(margin))
        if p < 0.05:
            return f"no difference larger than {margin:g} ({told})"
        low, high = difference.interval()
        if differs and (low > margin or high < -margin):
            return f"the difference is larger than {margin:g} ({self.interval})"
        if low > margin or high < -margin:
            return f"the interval lies beyond {margin:g} ({self.interval})"
        if differs:
            return f"the difference may be larger than {margin:g} ({told})"
        return f"equivalence within {margin:g} was not shown ({told})"
