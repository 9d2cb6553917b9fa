"""Compares the arms of a study with one of them, by paired differences on seeds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.inference.contrast import Contrast
from mesa_memory.inference.difference import FEW_SEEDS, ROUNDING, PairedDifference, holm
from mesa_memory.inference.numbers import number, p_of, signed
from mesa_memory.inference.outcomes import Outcomes
from mesa_memory.inference.power import seeds_for_power, seeds_for_width
from mesa_memory.inference.variance import Pairing, Parts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


#: seeds that are listed one by one
MAX_LISTED = 6
#: size of an arm's panel in the plot
PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 2.6, 3.4


@dataclass(frozen=True)
class Comparison(NotebookShown):
    """The arms of a factor against one of them; ``print`` shows all of it.

    Attributes:
        factor: whose levels are compared.
        base: the level that the others are compared with.
        outcome: what is compared.
        base_values: the base's outcome at each seed.
        contrasts: one for each other arm, in the order of the study.
        seeds: that all arms have finished; the unit of every number.
        left_out: why another seed is not among them, by seed.
        failing: the share of seeds in which an arm failed, by arm, if above 10%.
        margin: the largest difference that counts as none; None tests no equivalence.
        level: a smaller p is called a difference.
        averaged: other factors, over whose levels each value is a mean.
        notes: on the plan, for the text.
    """

    factor: str
    base: Any
    outcome: str
    base_values: tuple[float, ...]
    contrasts: tuple[Contrast, ...]
    seeds: tuple[Any, ...]
    left_out: Mapping[Any, str] = field(default_factory=dict)
    failing: Mapping[Any, float] = field(default_factory=dict)
    margin: float | None = None
    level: float = 0.05
    averaged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def base_mean(self) -> float:
        """The mean outcome of the base, over seeds."""
        return float(np.mean(self.base_values))

    def table(self) -> "pd.DataFrame":
        """A row for each arm, the base last.

        ``mean``, ``difference``, ``low`` and ``high`` (95% t interval) in units of the
        outcome; ``p`` by sign flip, ``p_holm``, ``dz``, ``agreeing`` (share of seeds),
        ``rho`` and ``runs_saved`` by pairing, ``p_equivalent``; variances ``seed``,
        ``seed_by_arm`` and ``model`` if there are replicates.
        """
        import pandas as pd

        rows = [self._row(each) for each in self.contrasts]
        base = {"arm": self.base, "seeds": len(self.seeds), "mean": self.base_mean}
        return pd.DataFrame([*rows, base])

    def _row(self, each: Contrast) -> dict[str, Any]:
        found, seeds = each.difference, len(self.seeds)
        low, high = found.interval()
        row = {
            "arm": each.arm, "seeds": seeds, "mean": each.mean,
            "difference": found.mean, "low": low, "high": high,
            "p": found.p, "p_holm": each.p_holm, "dz": found.dz,
            "agreeing": found.agreeing, "rho": each.pairing.rho,
            "runs_saved": each.pairing.saved(seeds),
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
        power: float = 0.8,
        half_width: float | None = None,
    ) -> dict[Any, int]:
        """The seeds that each arm needs, with these runs as the pilot; at least 6.

        Args:
            effect: the mean difference that a t test at 5% must find with ``power``.
            power: between 0 and 1.
            half_width: or the half width that a 95% interval must have.

        Raises:
            ValueError: unless one of ``effect`` and ``half_width`` is given, in range.
        """
        if (effect is None) == (half_width is None):
            raise ValueError("give either effect=… or half_width=…")
        return {
            each.arm: seeds_for_power(each.difference.sd, effect, power)
            if effect is not None
            else seeds_for_width(each.difference.sd, half_width or 0.0)
            for each in self.contrasts
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
            arms = len(self.contrasts)
            told.append(each.verdict(self.outcome, self.base, self.level, arms))
            told += each.findings(self.margin, self.level, self.seeds)
        return [*told, *self._of_seeds(), *self.notes]

    @property
    def printed(self) -> list[dict[str, str]]:
        """The rows of the table, the base last, with numbers as a paper prints them."""
        rows = []
        for each in self.contrasts:
            difference, pairing = each.difference, each.pairing
            saved = pairing.saved(difference.seeds)
            row = {
                "arm": str(each.arm), "mean": number(each.mean),
                "difference": signed(difference.mean),
                "95% interval": each.interval,
                "p": p_of(difference.p), "p (Holm)": p_of(each.p_holm),
                "dz": "" if difference.dz is None else f"{difference.dz:.2f}",
                "same sign": f"{difference.agreeing:.0%}",
                "rho": "" if pairing.rho is None else f"{pairing.rho:.2f}",
                "runs saved": "" if saved is None else str(saved),
            }  # fmt: skip
            if self.margin is not None:
                row["p (equal)"] = p_of(difference.equivalence(self.margin))
            rows.append(row)
        return [*rows, {"arm": str(self.base), "mean": number(self.base_mean)}]

    def _of_seeds(self) -> list[str]:
        """Sentences on the seeds."""
        told = []
        if len(self.seeds) < FEW_SEEDS:
            told.append(f"Below {FEW_SEEDS} seeds these intervals and tests are rough.")
        if self.averaged:
            told.append(f"Each value is a mean over {', '.join(self.averaged)}.")
        if self.left_out:
            reasons = Counter(self.left_out.values())
            listed = ", ".join(map(str, list(self.left_out)[:MAX_LISTED]))
            more = ", …" if len(self.left_out) > MAX_LISTED else ""
            why = "; ".join(f"{reason} in {n}" for reason, n in reasons.items())
            told.append(
                f"{len(self.left_out)} seeds are left out ({listed}{more}): {why}."
            )
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
        others: columns of other factors.
        level: a p below it is called a difference.
        notes: sentences to add to the text.

    Raises:
        ValueError: if the columns, levels, outcomes or seeds do not allow it.
    """
    if margin is not None and not margin > 0:
        raise ValueError(f"margin must be a number above 0, got {margin!r}")
    found = Outcomes.of(frame, factor, outcome, base, others)
    values = found.means
    arms = [arm for arm in found.arms if arm != base]
    differences = {arm: _difference(values[arm], values[base]) for arm in arms}
    corrected = holm([differences[arm].p for arm in arms])
    contrasts = tuple(
        Contrast(
            arm,
            float(np.mean(values[arm])),
            differences[arm],
            Pairing.of(values[arm], values[base]),
            p_holm,
            Parts.of(found.cells[arm], found.cells[base]) if found.replicated else None,
        )
        for arm, p_holm in zip(arms, corrected)
    )
    return Comparison(
        factor, base, outcome, tuple(map(float, values[base])), contrasts,
        found.seeds, found.left_out, found.failing, margin, level, tuple(others), tuple(notes),
    )  # fmt: skip


def _difference(arm: np.ndarray, base: np.ndarray) -> PairedDifference:
    """The differences at each seed; what is rounding of the outcomes is 0."""
    found = arm - base
    found[np.abs(found) <= ROUNDING * np.maximum(np.abs(arm), np.abs(base))] = 0.0
    return PairedDifference(tuple(map(float, found)))
