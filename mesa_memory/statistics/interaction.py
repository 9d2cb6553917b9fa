"""Differences of differences: does the effect of a factor depend on another one?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mesa_memory.statistics.comparison import (
    Comparison,
    Contrast,
    compare,
    contrasts_of,
)
from mesa_memory.statistics.difference import said_p, signed
from mesa_memory.statistics.outcomes import Outcomes, check_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Cell(NamedTuple):
    """An arm at a level of the other factor."""

    arm: Any
    level: Any

    def __str__(self) -> str:
        """Both names."""
        return f"{self.arm} in {self.level}"


@dataclass(frozen=True)
class EffectContrast(Contrast):
    """The effect of an arm at one level of the other factor minus its effect at another level.

    Attributes:
        effect: what differs, in words: "the effect of memory".
        effects: the arm against the base at the one level, and at the other one.
    """

    effect: str = ""
    effects: tuple[Contrast, ...] = ()

    def verdict(self, outcome: str, base: Any, level: float, arms: int) -> str:
        """The conclusion in one sentence; see ``Contrast.verdict``.

        Opposite signs are stated if each effect is shown, p corrected for all effects: two
        means of opposite signs do not show it (Gail and Simon, 1985).
        """
        one, other = self.effects
        pair = f"{one.arm.level} and {other.arm.level}"
        if self.difference.equal:
            seeds = self.difference.seeds
            return f"{self.effect} is equal in {pair} in all {seeds} seeds."
        if self.p_holm >= level:
            about = f"{self.effect} in {pair}"
            return self.not_shown(about, "no difference was shown", level, arms)
        size = f"{signed(self.difference.mean)} {self.interval}, {said_p(self.p_holm)}"
        low, high = self.difference.interval()
        told = f"{self.effect} differs between {pair}: {size}"
        told += "; the interval includes 0" if low <= 0 <= high else ""
        if one.difference.mean * other.difference.mean < 0:
            shown = max(one.p_holm, other.p_holm) < level
            told += "; it has opposite signs" if shown else (
                "; opposite signs are not shown, as one of both effects is not"
            )  # fmt: skip
        return f"{told}."


@dataclass(frozen=True)
class Interaction(Comparison):
    """Effects of a factor at the levels of another one, and the differences of effects.

    ``contrasts`` has each arm with each pair of levels, first minus second. ``values`` are
    the outcomes by arm and level.

    Attributes:
        effects: each arm against the base at each level; p is corrected for their number.
    """

    effects: tuple[Contrast, ...] = ()

    @property
    def rows(self) -> tuple[Contrast, ...]:
        """The effects at each level, and their differences."""
        return (*self.effects, *self.contrasts)

    @property
    def title(self) -> str:
        """The outcome, both factors and the base in one line."""
        effects = f"effect of {self.factor} on {self.outcome} by {self.by}"
        return f"{effects}, against {self.base}: {len(self.seeds)} seeds, paired"

    def of(self, arm: Any, frame: "pd.DataFrame") -> "pd.DataFrame":
        """The rows of an arm and level of ``values`` in a table of the study."""
        at = frame[self.by] == arm.level
        return frame[at & (frame[self.factor] == arm.arm)]

    def figure(self) -> "Figure":
        """A panel for each arm: its effect at each level, a line for each seed."""
        from matplotlib.figure import Figure

        arms = list(dict.fromkeys(each.arm.arm for each in self.effects))
        figure = Figure(figsize=(4.2 * len(arms) + 1, 3.6), layout="constrained")
        panels = figure.subplots(1, len(arms), sharey=True, squeeze=False)[0]
        for panel, arm in zip(panels, arms):
            effects = [each for each in self.effects if each.arm.arm == arm]
            values = np.array([each.difference.values for each in effects])
            panel.plot(values, "o-", color="#0072b2", alpha=0.3)
            panel.plot(values.mean(axis=1), "s-", color="black", lw=2.5)
            panel.axhline(0, color="grey", lw=0.8)
            names = [str(each.arm.level) for each in effects]
            panel.set_xticks(range(len(names)), names, rotation=30, ha="right")
            panel.set_title(f"{arm} minus {self.base}", fontsize=9)
        panels[0].set_ylabel(f"effect on {self.outcome}")
        return figure


def compared(frame: "pd.DataFrame", *, by: str | None, **asked: Any) -> Comparison:
    """Compares arms, or with ``by`` their effects."""
    return compare_effects(frame, by=by, **asked) if by else compare(frame, **asked)


def compare_effects(
    frame: "pd.DataFrame",
    factor: str,
    *,
    by: str,
    outcome: str,
    base: Any,
    margin: float | None = None,
    bounds: tuple[float, float] | None = None,
    leave_out_nan: bool = False,
    others: Sequence[str] = (),
    level: float = 0.05,
    notes: Sequence[str] = (),
) -> Interaction:
    """Compares the effects of a factor between the levels of another one.

    At each seed the effect is the outcome of an arm minus that of the base at the same
    level; a contrast is the effect at one level minus the effect at another one. Intervals,
    tests and equivalence are those of ``compare``; p is corrected for all contrasts (Holm).

    Args:
        by: name of the column of the other factor.
        frame, factor, outcome, base, margin, bounds, leave_out_nan, others, level, notes:
            see ``compare``.

    Raises:
        ValueError: as ``compare``; or if ``by`` has a single level, or an arm no runs at one.
    """
    import pandas as pd

    check_columns(frame, factor, outcome, base)
    cells = _cells(frame, factor, by)
    levels = list(dict.fromkeys(cell.level for cell in cells))
    arms = [arm for arm in dict.fromkeys(cell.arm for cell in cells) if arm != base]
    empty = {Cell(a, at) for a in (base, *arms) for at in levels} - {*cells}
    if empty:
        named = ", ".join(sorted(map(str, empty)))
        raise ValueError(f"no runs were made of {named}: effects need all combinations")
    column = f"{factor} and {by}"
    first = Cell(base, levels[0])
    joint = frame.copy()
    joint[column] = pd.Series(cells, index=frame.index, dtype=object)
    found = Outcomes.of(joint, column, outcome, first, others, leave_out_nan, bounds)
    effects, contrasts = _compared(found.cells, factor, base, arms, levels, bounds)
    values = {cell: tuple(map(float, found.means[cell])) for cell in found.arms}
    told = [f"p of the effects is corrected for {len(effects)} effects.", *notes]
    return Interaction(
        factor, base, outcome, values, contrasts, found.seeds, found.left_out,
        found.failing, margin, level, tuple(others), tuple(told), len(contrasts), by, effects,
    )  # fmt: skip


def of_effects(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """The bounds of effects: the difference of two of them has twice those of outcomes."""
    return None if bounds is None else (2 * bounds[0], 2 * bounds[1])


def _cells(frame: "pd.DataFrame", factor: str, by: str) -> list[Cell]:
    """The cell of each run.

    Raises:
        ValueError: if ``by`` is not another factor, or has a single level.
    """
    if by == factor or by not in frame.columns or frame[by].nunique() < 2:
        raise ValueError(
            f"by={by!r} must be another factor with several levels; the columns are "
            f"{', '.join(map(str, frame.columns))}"
        )
    return [Cell(*pair) for pair in zip(frame[factor], frame[by])]


def _compared(
    of: Mapping[Any, Any],
    factor: str,
    base: Any,
    arms: Sequence[Any],
    levels: Sequence[Any],
    bounds: tuple[float, float] | None,
) -> tuple[tuple[Any, ...], tuple[EffectContrast, ...]]:
    """The effect of each arm at each level, and the differences of effects."""
    effects = contrasts_of(
        {Cell(arm, at): (of[arm, at], of[base, at]) for arm in arms for at in levels},
        bounds,
    )
    pairs = [(arm, *pair) for arm in arms for pair in combinations(levels, 2)]
    contrasts = contrasts_of(
        {
            f"{arm}: {one} minus {other}": (
                of[arm, one] - of[base, one], of[arm, other] - of[base, other],
            )
            for arm, one, other in pairs
        },
        of_effects(bounds),
    )  # fmt: skip
    by_cell = {each.arm: each for each in effects}
    words = {a: f"the effect of {factor}{f' {a}' * (len(arms) > 1)}" for a in arms}
    contrasted = tuple(
        EffectContrast(
            **vars(each), effect=words[arm],
            effects=(by_cell[Cell(arm, one)], by_cell[Cell(arm, other)]),
        )
        for each, (arm, one, other) in zip(contrasts, pairs)
    )  # fmt: skip
    return effects, contrasted
