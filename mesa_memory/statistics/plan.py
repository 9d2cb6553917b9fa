"""The analysis of a study and its rule to stop, fixed before the first run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Any

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.validate import checked_int
from mesa_memory.statistics.comparison import Comparison, corrected
from mesa_memory.statistics.difference import seeds_to_decide
from mesa_memory.statistics.interaction import compared
from mesa_memory.statistics.power import level_of_looks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Plan(NotebookShown):
    """The analysis of a study, and its rule to stop.

    The arms are compared after these numbers of seeds, and the study stops when all arms
    differ from the base in all primary outcomes. Each look has the same level, so that all
    together err in 5% of null studies.

    Attributes:
        factor: the one with the levels to compare.
        base: the level that the others are compared with.
        outcome: name of the primary outcome, or several; p is corrected for all of them.
        margin: the largest difference that counts as none; of several outcomes also by name.
        looks: numbers of seeds, increasing; without any, the arms are compared once, after
            all seeds of the study.
        bounds: of the outcome, see ``compare``; of several outcomes also by name.
        by: another factor: compares the effects between its levels, see ``compare_effects``.
        secondary: further outcomes; p is not corrected for their number.

    Raises:
        ValueError: for a number out of its range, or a look that can find nothing.
    """

    factor: str
    base: Any
    outcome: str | Sequence[str]
    margin: float | Mapping[str, float] | None = None
    looks: tuple[int, ...] = ()
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None
    by: str | None = None
    secondary: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", tuple(self.looks))
        object.__setattr__(self, "secondary", tuple(self.secondary))
        if len({*self.primary, *self.secondary}) < len(self.primary + self.secondary):
            raise ValueError(
                f"an outcome is named twice: {self.primary + self.secondary}"
            )
        for seeds in self.looks:
            checked_int("a number of seeds in a plan", seeds, 2)
        if list(self.looks) != sorted(set(self.looks)):
            raise ValueError(f"looks must increase, got {self.looks!r}")
        self.check_looks(1)
        for outcome in self.primary + self.secondary:
            margin = self.asked(outcome)["margin"]
            if margin is not None and not margin > 0:
                raise ValueError(f"margin must be above 0, got {margin!r}")

    @property
    def primary(self) -> tuple[str, ...]:
        """The names of the primary outcomes."""
        return (self.outcome,) if isinstance(self.outcome, str) else tuple(self.outcome)

    def asked(self, outcome: str) -> dict[str, Any]:
        """The arguments of the comparison of an outcome, see ``Study.compare``."""
        margin, bounds = (
            each.get(outcome) if isinstance(each, Mapping) else each
            for each in (self.margin, self.bounds)
        )
        same = {"factor": self.factor, "base": self.base, "by": self.by}
        return same | {"outcome": outcome, "margin": margin, "bounds": bounds}

    def check_looks(self, arms: int, levels: int = 2) -> None:
        """Raises if a look at the first seeds can find nothing.

        Args:
            arms: the number of arms that are compared with the base.
            levels: of the factor ``by``.
        """
        pairs = comb(levels, 2) if self.by else 1
        arms = arms * pairs * len(self.primary)
        needed = seeds_to_decide(arms, self.level)
        if self.looks and self.looks[0] < needed:
            contrasts = f"{arms} contrast{'s' * (arms > 1)}"
            raise ValueError(
                f"a look at {self.looks[0]} seeds and {contrasts} can find nothing, as "
                f"each look needs p < {self.level:.4f}: at least {needed}"
            )

    @property
    def level(self) -> float:
        """The p below which a look finds a difference."""
        return level_of_looks(self.looks) if self.looks else 0.05

    @property
    def description(self) -> dict[str, Any]:
        """All of it as plain data, for the study's hash."""
        found = asdict(self) | {"base": str(self.base), "looks": list(self.looks)}
        return {name: v for name, v in found.items() if v is not None and v != ()}

    def compare(self, frame: "pd.DataFrame", **given: Any) -> list[Comparison]:
        """The comparisons of the primary outcomes, p corrected for all their contrasts.

        Args:
            frame: a row for each run; see ``compare``.
            **given: ``others``, ``leave_out_nan`` and ``notes`` of ``compare``.
        """
        found = [
            compared(frame, **(self.asked(outcome) | {"level": self.level} | given))
            for outcome in self.primary
        ]
        family = sum(len(each.contrasts) for each in found)
        families = corrected([each.contrasts for each in found])
        return [
            replace(each, contrasts=contrasts, family=family)
            for each, contrasts in zip(found, families)
        ]

    def look(
        self,
        frame: "pd.DataFrame",
        seeds: Sequence[Any],
        number: int,
        others: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Compares the arms after a number of seeds, and says how many come next.

        Args:
            frame: a row for each run; see ``compare``.
            seeds: all of the study, in order.
            number: how many of them the look has.
            others: columns of other factors.

        Returns:
            As plain data: ``seeds``, ``p`` (Holm) by contrast, and ``next``, the seeds that
            the plan asks for now; they are equal if it stops.
        """
        there = frame[frame["seed"].isin(list(seeds[:number]))]
        several = len(self.primary) > 1
        ps = {
            f"{found.outcome}, {each.arm}" if several else str(each.arm): each.p_holm
            for found in self.compare(there, others=others)
            for each in found.contrasts
        }
        later = [seeds for seeds in self.looks if seeds > number]
        differ = all(p < self.level for p in ps.values())
        stops = differ or not later
        return {"seeds": number, "p": ps, "next": number if stops else later[0]}

    def __str__(self) -> str:
        """The plan in one sentence, for the methods."""
        told = f"{' and '.join(self.primary)} of each level of {self.factor} against {self.base}"
        told += f", between the levels of {self.by}" if self.by else ""
        for outcome in self.primary + self.secondary:
            margin = self.asked(outcome)["margin"]
            of = f" of {outcome}" if isinstance(self.margin, Mapping) else ""
            within = (
                f", equivalence{of} within {margin:g}" if margin is not None else ""
            )
            told += within if within not in told else ""
        if self.secondary:
            told += f", secondary: {' and '.join(self.secondary)}"
        listed = ", ".join(map(str, self.looks)) or "all"
        each = "each " if self.looks[1:] else ""
        return f"{told}, at {listed} seeds, {each}at p < {self.level:.4f}"
