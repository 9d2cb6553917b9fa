"""The analysis of a study and its rule to stop, fixed before the first run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.validate import checked_int
from mesa_memory.statistics.comparison import compare
from mesa_memory.statistics.difference import seeds_to_decide
from mesa_memory.statistics.power import level_of_looks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Plan(NotebookShown):
    """The analysis of a study, and its rule to stop.

    The arms are compared after these numbers of seeds, and the study stops when all arms
    differ from the base. Each look has the same level, so that all together err in 5% of
    null studies.

    Attributes:
        factor: the one with the levels to compare.
        base: the level that the others are compared with.
        outcome: name of the outcome.
        margin: the largest difference that counts as none.
        looks: numbers of seeds, increasing; without any, the arms are compared once, after
            all seeds of the study.
        bounds: of the outcome, see ``compare``.

    Raises:
        ValueError: for a number out of its range, or a look that can find nothing.
    """

    factor: str
    base: Any
    outcome: str
    margin: float | None = None
    looks: tuple[int, ...] = ()
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", tuple(self.looks))
        for seeds in self.looks:
            checked_int("a number of seeds in a plan", seeds, 2)
        if list(self.looks) != sorted(set(self.looks)):
            raise ValueError(f"looks must increase, got {self.looks!r}")
        self.check_looks(1)
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"margin must be above 0, got {self.margin!r}")

    def check_looks(self, arms: int) -> None:
        """Raises if a look at the first seeds can find nothing.

        Args:
            arms: the number of arms that are compared with the base.
        """
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
        return {name: value for name, value in found.items() if value is not None}

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
            As plain data: ``seeds``, ``p`` (Holm) by arm, and ``next``, the seeds that
            the plan asks for now; they are equal if it stops.
        """
        there = frame[frame["seed"].isin(list(seeds[:number]))]
        found = compare(
            there, self.factor, outcome=self.outcome, base=self.base,
            margin=self.margin, bounds=self.bounds, others=others, level=self.level,
        )  # fmt: skip
        ps = {str(each.arm): each.p_holm for each in found.contrasts}
        later = [seeds for seeds in self.looks if seeds > number]
        differ = all(p < self.level for p in ps.values())
        return {
            "seeds": number,
            "p": ps,
            "next": later[0] if later and not differ else number,
        }

    def __str__(self) -> str:
        """The plan in one sentence, for the methods."""
        told = f"{self.outcome} of each level of {self.factor} against {self.base}"
        if self.margin is not None:
            told += f", equivalence within {self.margin:g}"
        listed = ", ".join(map(str, self.looks)) or "all"
        each = "each " if self.looks[1:] else ""
        return f"{told}, at {listed} seeds, {each}at p < {self.level:.4f}"
