"""One arm of a study against the base, and the sentences that its differences allow."""

from dataclasses import dataclass
from typing import Any

from mesa_memory.inference.difference import MIN_SEEDS, PairedDifference, share
from mesa_memory.inference.numbers import number, said_p
from mesa_memory.inference.variance import Pairing, Parts


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

    def verdict(self, outcome: str, base: Any, level: float) -> str:
        """The conclusion that the differences allow, in one sentence."""
        difference, arm, seeds = self.difference, self.arm, self.difference.seeds
        if difference.equal:
            return f"{arm}: equal to {base} in all {seeds} seeds."
        if seeds < MIN_SEEDS:
            return (
                f"{arm}: no verdict; below {MIN_SEEDS} seeds a sign-flip test cannot reach "
                "p < 0.05."
            )
        told = f"{self.interval}, {said_p(self.p_holm)}"
        if self.p_holm < level:
            more = "higher" if difference.mean > 0 else "lower"
            size = number(abs(difference.mean))
            return f"{arm}: {outcome} is {size} {more} than with {base} ({told})."
        return f"{arm}: no difference from {base} was shown ({told})."

    def findings(self, margin: float | None) -> list[str]:
        """Sentences on equivalence, tipping and the parts of the variance."""
        difference, arm, told = self.difference, self.arm, []
        if margin is not None and not difference.equal:
            p = difference.equivalence(margin)
            size = f"no difference larger than {margin:g}"
            shown = f"{size} ({said_p(p)})." if p < 0.05 else ""
            within = f"equivalence within {margin:g} was not shown ({said_p(p)})."
            told.append(f"{arm}: {shown or within}")
        if difference.tipping:
            few = min(difference.tipping)
            part, low, high = share(few, difference.seeds)
            told.append(
                f"{arm}: {few} of {difference.seeds} seeds ({part:.0%} [{low:.0%}, "
                f"{high:.0%}]) differ clearly from the others, so this interval may be too "
                "short: look at the plot."
            )
        if self.parts:
            parts = self.parts
            told.append(
                f"{arm}: variance of the difference of two runs: seed {number(parts.seed)} "
                f"(removed by pairing), seed x arm {number(parts.seed_by_arm)}, model "
                f"{number(parts.model)}."
            )
        return told
