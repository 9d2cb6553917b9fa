"""Compares the arms of a study with one of them, by paired differences on seeds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.statistics.difference import (
    FEW_SEEDS,
    ROUNDING,
    PairedDifference,
    holm,
    number,
    p_of,
    said_p,
    seeds_to_decide,
    share,
    signed,
)
from mesa_memory.statistics.outcomes import Outcomes, VarianceParts
from mesa_memory.statistics.power import range_of_sd, seeds_for_power, seeds_for_width

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


#: seeds that are listed one by one
MAX_LISTED = 6
#: seeds that are named in a sentence on those that tip
MAX_NAMED_SEEDS = 3
#: size of an arm's panel in the plot
PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 2.6, 3.4


@dataclass(frozen=True)
class Contrast:
    """One arm against the base.

    Attributes:
        arm: its level of the factor.
        mean: of its outcome, over seeds.
        difference: arm minus base, at each seed.
        rho: correlation of both arms over seeds; None if one of them is constant.
        p_holm: the sign-flip p, corrected for the number of contrasts.
        parts: of the variance, if there are replicates.
    """

    arm: Any
    mean: float
    difference: PairedDifference
    rho: float | None
    p_holm: float
    parts: VarianceParts | None = None

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
            arms: the number of contrasts for which p is corrected.
        """
        difference, arm, seeds = self.difference, self.arm, self.difference.seeds
        if difference.equal:
            return f"{arm}: equal to {base} in all {seeds} seeds."
        told = f"{self.interval}, {said_p(self.p_holm)}"
        low, high = difference.interval()
        if self.p_holm < level:
            size = signed(difference.mean)
            but = "; the interval includes 0" if low <= 0 <= high else ""
            return f"{arm}: {outcome} differs from {base} by {size} ({told}){but}."
        return self.not_shown(arm, f"no difference from {base} was shown", level, arms)

    def not_shown(self, about: str, none: str, level: float, arms: int) -> str:
        """The conclusion of a p that is not below the level.

        Args:
            about: begins the sentence.
            none: says that the test was able to show a difference, and did not.
            level, arms: as for ``verdict``.
        """
        seeds, told = self.difference.seeds, f"{self.interval}, {said_p(self.p_holm)}"
        needed, (low, high) = seeds_to_decide(arms, level), self.difference.interval()
        if seeds < needed:
            contrasts = f"{arms} contrast{'s' * (arms > 1)}"
            return (
                f"{about}: no verdict ({told}); {seeds} seeds and {contrasts} cannot show "
                f"a difference: at least {needed}."
            )
        if not low <= 0 <= high:
            return (
                f"{about}: undecided ({told}); the interval leaves out 0, but the "
                "sign-flip test does not exclude that they are equal."
            )
        return f"{about}: {none} ({told})."

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
                f"{arm}: variance of the difference of two runs: seed {number(parts.seed)}, "
                f"seed x arm {number(parts.seed_by_arm)}, model "
                f"{number(parts.model)}."
            )
        return told

    def _equivalence(self, margin: float, differs: bool) -> str:
        """The result of the equivalence test, which never denies a difference shown."""
        difference = self.difference
        p = difference.equivalence(margin)
        told = self.interval if p is None else said_p(p)
        low, high = difference.interval()
        if differs and (low > margin or high < -margin):
            return f"the difference is larger than {margin:g} ({self.interval})"
        if low > margin or high < -margin:
            return f"the interval lies beyond {margin:g} ({self.interval})"
        if p is None and difference.bounds is None:
            least = seeds_to_decide(1)
            why = "without variance" if difference.constant else f"below {least} seeds"
            return f"equivalence within {margin:g} cannot be tested {why}"
        if p is not None and p < 0.05:
            chance = f"{1 - 0.05 ** (1 / difference.seeds):.0%}"
            return (
                f"no difference larger than {margin:g} ({told}); an outcome that occurs "
                f"in up to {chance} of seeds can be absent from {difference.seeds} seeds by "
                "chance"
            )
        if p is None and -margin < low and high < margin:
            return f"no difference larger than {margin:g} ({told})"
        if differs:
            return f"the difference may be larger than {margin:g} ({told})"
        return f"equivalence within {margin:g} was not shown ({told})"


@dataclass(frozen=True)
class Comparison(NotebookShown):
    """The arms of a factor against one of them; ``print`` shows all of it.

    Attributes:
        factor: the one with the levels to compare.
        base: the level that the others are compared with.
        outcome: what is compared.
        values: the outcome at each seed, by arm, the base first.
        contrasts: one for each other arm, in the order of the study.
        seeds: that all arms have finished; the unit of every number.
        left_out: why another seed is not among them, by seed.
        failing: the share of seeds in which an arm failed, by arm, if above 10%.
        margin: the largest difference that counts as none; None tests no equivalence.
        level: a smaller p is called a difference.
        averaged: other factors, over whose levels each value is a mean.
        notes: on the plan, for the text.
        family: the number of contrasts for which p is corrected.
        by: another factor, between whose levels effects are compared.
    """

    factor: str
    base: Any
    outcome: str
    values: Mapping[Any, tuple[float, ...]]
    contrasts: tuple[Contrast, ...]
    seeds: tuple[Any, ...]
    left_out: Mapping[Any, str] = field(default_factory=dict)
    failing: Mapping[Any, float] = field(default_factory=dict)
    margin: float | None = None
    level: float = 0.05
    averaged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    family: int = 1
    by: str | None = None

    def __post_init__(self) -> None:
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"margin must be a number above 0, got {self.margin!r}")

    @property
    def base_values(self) -> tuple[float, ...]:
        """The outcome of the base at each seed."""
        return self.values[self.base]

    @property
    def base_mean(self) -> float:
        """The mean outcome of the base, over seeds."""
        return float(np.mean(self.base_values))

    def table(self) -> "pd.DataFrame":
        """A row for each arm, the base last.

        ``mean``, ``difference``, ``low`` and ``high`` (95% interval) in units of the
        outcome; ``p`` by sign flip, ``p_holm``, ``dz``, ``agreeing`` (share of seeds),
        ``rho`` (correlation of both arms over seeds), ``p_equivalent``; variances
        ``seed``, ``seed_by_arm`` and ``model`` if there are replicates.
        """
        import pandas as pd

        rows = [self._row(each) for each in self.rows]
        if not self.by:
            mean = self.base_mean
            rows.append({"arm": self.base, "seeds": len(self.seeds), "mean": mean})
        return pd.DataFrame(rows)

    @property
    def rows(self) -> tuple[Contrast, ...]:
        """The contrasts of the table."""
        return self.contrasts

    def of(self, arm: Any, frame: "pd.DataFrame") -> "pd.DataFrame":
        """The rows of an arm of ``values`` in a table of the study."""
        return frame[frame[self.factor] == arm]

    def _row(self, each: Contrast) -> dict[str, Any]:
        found, seeds = each.difference, len(self.seeds)
        low, high = found.interval()
        row = {
            "arm": str(each.arm) if self.by else each.arm, "seeds": seeds, "mean": each.mean,
            "difference": found.mean, "low": low, "high": high,
            "p": found.p, "p_holm": each.p_holm, "dz": found.dz,
            "agreeing": found.agreeing, "rho": each.rho,
        }  # fmt: skip
        if self.margin is not None:
            row["p_equivalent"] = found.equivalence(self.margin)
        return row | (vars(each.parts) if each.parts else {})

    def figure(self) -> "Figure":
        """A panel for each arm: a line for each seed from the base, and their mean."""
        from matplotlib.figure import Figure

        count = len(self.contrasts)
        size = (PANEL_WIDTH_IN * count + 1, PANEL_HEIGHT_IN)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
        for panel, each in zip(panels, self.contrasts):
            for low, change in zip(self.base_values, each.difference.values):
                panel.plot(
                    [0, 1], [low, low + change], "o-", color="#0072b2", alpha=0.45
                )
            panel.plot([0, 1], [self.base_mean, each.mean], "s-", color="black", lw=2.5)
            panel.set_xticks([0, 1], [str(self.base), str(each.arm)])
            panel.set_xlim(-0.3, 1.3)
            told = f"{signed(each.difference.mean)} {each.interval}"
            panel.set_title(told, fontsize=9)
        panels[0].set_ylabel(self.outcome)
        return figure

    def plot(self, path: str | Path) -> Path:
        """Draws ``figure`` into a picture file."""
        self.figure().savefig(path, dpi=150)
        return Path(path)

    def seeds_for(
        self,
        *,
        effect: float | None = None,
        interaction: float | None = None,
        power: float = 0.8,
        half_width: float | None = None,
    ) -> dict[Any, tuple[int, int]]:
        """The seeds that each arm needs, with these runs as the pilot; at least 6.

        Args:
            effect: the mean difference that the sign-flip test of ``compare`` must find
                with ``power``, corrected for the number of contrasts.
            interaction: with ``by``, the difference of two effects that it must find.
            power: between 0 and 1.
            half_width: or the half width that a 95% t interval must have.

        Returns:
            For each arm the numbers for the lowest and the highest spread that the pilot
            allows (its 80% interval); a study with the first one may well be too small.

        Raises:
            ValueError: unless one of ``effect`` (with ``by``, ``interaction``) and
                ``half_width`` is given, in range.
        """
        wanted, other = ("interaction", effect) if self.by else ("effect", interaction)
        effect = interaction if self.by else effect
        if (effect is None) == (half_width is None) or other is not None:
            why = (
                "effects are compared by" if self.by else "arms are compared without by"
            )
            raise ValueError(
                f"give either {wanted}=… or half_width=…, as {why} {self.by or '=…'}"
            )

        def needed(sd: float) -> int:
            if effect is None:
                return seeds_for_width(sd, half_width or 0.0)
            return seeds_for_power(sd, effect, power, self.family)

        return {
            each.arm: (needed(low), needed(high))
            for each in self.contrasts
            for low, high in [range_of_sd(each.difference.sd, len(self.seeds))]
        }

    def __str__(self) -> str:
        """The table and a sentence for each thing that it shows."""
        import pandas as pd

        table = pd.DataFrame(self.printed).fillna("").to_string(index=False)
        return "\n".join([self.title, str(table), *self.sentences])

    @property
    def title(self) -> str:
        """The outcome, the factor and the base in one line."""
        arms = f"{self.outcome} by {self.factor}, against {self.base}"
        return f"{arms}: {len(self.seeds)} seeds, paired"

    @property
    def sentences(self) -> list[str]:
        """Verdicts, findings, and notes on seeds and plan."""
        told = []
        for each in self.contrasts:
            told.append(each.verdict(self.outcome, self.base, self.level, self.family))
            told += each.findings(self.margin, self.level, self.seeds)
        return [*told, *self._of_seeds(), *self.notes]

    @property
    def printed(self) -> list[dict[str, str]]:
        """The rows of the table, the base last, with numbers as a paper prints them."""
        rows = []
        for each in self.rows:
            difference = each.difference
            row = {
                "arm": str(each.arm), "mean": number(each.mean),
                "difference": signed(difference.mean),
                "95% interval": each.interval,
                "p": p_of(difference.p), "p (Holm)": p_of(each.p_holm),
                "dz": "" if difference.dz is None else f"{difference.dz:.2f}",
                "same sign": f"{difference.agreeing:.0%}",
                "rho": "" if each.rho is None else f"{each.rho:.2f}",
            }  # fmt: skip
            if self.margin is not None:
                p = difference.equivalence(self.margin)
                row["p (equal)"] = "" if p is None else p_of(p)
            rows.append(row)
        if self.by:
            return rows
        return [*rows, {"arm": str(self.base), "mean": number(self.base_mean)}]

    def _of_seeds(self) -> list[str]:
        """Sentences on the seeds."""
        told, arms = [], len(self.contrasts)
        if self.family > 1:
            what = "arms" if self.family == arms and not self.by else "contrasts"
            family = f"{self.family} {what}"
            told.append(f"p is corrected for {family}, the intervals are not.")
        if len(self.seeds) < FEW_SEEDS:
            told.append(f"Below {FEW_SEEDS} seeds these intervals and tests are rough.")
        if self.averaged:
            told.append(f"Each value is a mean over {', '.join(self.averaged)}.")
        if self.left_out:
            reasons = Counter(self.left_out.values())
            listed = ", ".join(map(str, list(self.left_out)[:MAX_LISTED]))
            more = ", …" if len(self.left_out) > MAX_LISTED else ""
            why = "; ".join(f"{reason} in {n}" for reason, n in reasons.items())
            count = len(self.left_out)
            seeds = "1 seed is" if count == 1 else f"{count} seeds are"
            told.append(f"{seeds} left out ({listed}{more}): {why}.")
        for arm, part in self.failing.items():
            told.append(
                f"{arm} failed in {part:.0%} of the seeds: failure may depend on the arm."
            )
        return told


def compare(
    frame: "pd.DataFrame",
    factor: str,
    *,
    outcome: str,
    base: Any,
    margin: float | None = None,
    bounds: tuple[float, float] | None = None,
    leave_out_nan: bool = False,
    others: Sequence[str] = (),
    level: float = 0.05,
    notes: Sequence[str] = (),
) -> Comparison:
    """Compares the levels of a factor with one of them, paired by seed.

    The unit is the seed: replicates, and runs at levels of other factors, are averaged
    first. Only seeds that all arms have finished count.

    Args:
        frame: a row for each run, with the columns ``factor``, ``outcome``, ``seed``,
            ``replicate``, ``state`` and ``others``; see ``Results.runs``.
        factor: name of the column of arms.
        outcome: name of the column to compare; numbers, or True and False.
        base: the level that the others are compared with.
        margin: the largest difference that counts as none, above 0.
        bounds: lowest and highest possible outcome, such as (0, 1) of a share: the
            intervals, and the equivalence that they show, then hold for any shape.
        leave_out_nan: seeds whose outcome is NaN in an arm are left out.
        others: columns of other factors.
        level: a p below it is called a difference.
        notes: sentences to add to the text.

    Raises:
        ValueError: if the columns, levels, outcomes or seeds do not allow it.
    """
    found = Outcomes.of(frame, factor, outcome, base, others, leave_out_nan, bounds)
    arms = [arm for arm in found.arms if arm != base]
    contrasts = contrasts_of(
        {arm: (found.cells[arm], found.cells[base]) for arm in arms}, bounds
    )
    values = {arm: tuple(map(float, found.means[arm])) for arm in (base, *arms)}
    return Comparison(
        factor, base, outcome, values, contrasts, found.seeds, found.left_out,
        found.failing, margin, level, tuple(others), tuple(notes), len(contrasts),
    )  # fmt: skip


def contrasts_of(
    pairs: Mapping[Any, tuple[np.ndarray, np.ndarray]],
    bounds: tuple[float, float] | None,
) -> tuple[Contrast, ...]:
    """A contrast for each pair of arms, p corrected for their number.

    Args:
        pairs: by name the outcomes of arm and base, of shape (seeds, replicates).
        bounds: of the outcomes.
    """
    found = []
    for name, (arm, base) in pairs.items():
        several = arm.shape[1] > 1 and base.shape[1] > 1
        parts = VarianceParts.of(arm, base) if several else None
        mine, theirs = arm.mean(axis=1), base.mean(axis=1)
        difference = _difference(mine, theirs, bounds)
        rho, mean = _rho(mine, theirs), float(np.mean(mine))
        found.append(Contrast(name, mean, difference, rho, difference.p, parts))
    return corrected([found])[0]


def corrected(families: Sequence[Sequence[Contrast]]) -> list[tuple[Contrast, ...]]:
    """The contrasts of several comparisons, p corrected for the number of all."""
    ps = iter(holm([each.difference.p for family in families for each in family]))
    return [
        tuple(replace(each, p_holm=next(ps)) for each in family) for family in families
    ]


def _difference(
    arm: np.ndarray, base: np.ndarray, bounds: tuple[float, float] | None
) -> PairedDifference:
    """The differences at each seed; what is rounding of the outcomes is 0."""
    found = arm - base
    found[np.abs(found) <= ROUNDING * np.maximum(np.abs(arm), np.abs(base))] = 0.0
    return PairedDifference(tuple(map(float, found)), bounds)


def _rho(arm: np.ndarray, base: np.ndarray) -> float | None:
    constant = np.ptp(arm) == 0 or np.ptp(base) == 0
    return None if constant else float(np.corrcoef(arm, base)[0, 1])
