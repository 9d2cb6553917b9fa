"""The analysis of a study and its rule to stop, fixed before the first run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.validate import checked_int
from mesa_memory.inference.comparison import Comparison, compare
from mesa_memory.inference.power import level_of_looks, seeds_of_stein

if TYPE_CHECKING:
    import pandas as pd

#: of a pilot for a half width: below it, intervals of skewed outcomes are too short
PILOT = 15


@dataclass(frozen=True)
class Plan(NotebookShown):
    """The analysis of a study, and its rule to stop.

    With ``looks``, the arms are compared after these numbers of seeds, and the study
    stops when all arms differ from the base. Each look has the same level, so that all
    together err in 5% of null studies. With ``half_width``, a pilot says how many seeds
    the interval mean ± half_width needs (Stein, 1945), and the study makes as many.

    Attributes:
        factor: whose levels are compared.
        base: the level that the others are compared with.
        outcome: name of the outcome.
        margin: the largest difference that counts as none.
        looks: numbers of seeds, increasing.
        half_width: of the 95% interval, in units of the outcome.
        pilot: number of seeds of the pilot, if ``half_width`` is given.

    Raises:
        ValueError: unless one of ``looks`` and ``half_width`` is given, in range.
    """

    factor: str
    base: Any
    outcome: str
    margin: float | None = None
    looks: tuple[int, ...] = ()
    half_width: float | None = None
    pilot: int = PILOT

    def __post_init__(self) -> None:
        if bool(self.looks) == (self.half_width is not None):
            raise ValueError(
                "a plan needs either looks=(10, 20, 40) or half_width=0.05, got "
                f"looks={self.looks!r} and half_width={self.half_width!r}"
            )
        object.__setattr__(self, "looks", tuple(self.looks))
        for seeds in (*self.looks, self.pilot):
            checked_int("a number of seeds in a plan", seeds, 2)
        if list(self.looks) != sorted(set(self.looks)):
            raise ValueError(f"looks must increase, got {self.looks!r}")
        if self.looks and 2 / 2 ** self.looks[0] >= self.level:
            raise ValueError(
                f"a look at {self.looks[0]} seeds can find nothing: its smallest p is "
                f"{2 / 2 ** self.looks[0]:.3f}, and each look needs p < "
                f"{self.level:.4f}. Give a first look with more seeds."
            )
        if self.half_width is not None and not self.half_width > 0:
            raise ValueError(f"half_width must be above 0, got {self.half_width!r}")
        if self.margin is not None and not self.margin > 0:
            raise ValueError(f"margin must be above 0, got {self.margin!r}")

    @property
    def first(self) -> int:
        """The seeds of the first look, or of the pilot."""
        return self.looks[0] if self.looks else self.pilot

    @property
    def least(self) -> int:
        """The seeds that a study with this plan must have."""
        return self.looks[-1] if self.looks else self.pilot

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
            margin=self.margin, others=others, level=self.level,
        )  # fmt: skip
        ps = {str(each.arm): each.p_holm for each in found.contrasts}
        return {"seeds": number, "p": ps, "next": self._next(found, number)}

    def _next(self, found: Comparison, number: int) -> int:
        """The seeds that the plan asks for after a look; ``number`` if it stops."""
        if self.half_width is None:
            later = [seeds for seeds in self.looks if seeds > number]
            differ = all(each.p_holm < self.level for each in found.contrasts)
            return number if differ or not later else later[0]
        if number > self.pilot:
            return number
        spreads = [each.difference.sd for each in found.contrasts]
        return seeds_of_stein(max(spreads), self.pilot, self.half_width)

    def __str__(self) -> str:
        """The plan in one sentence, for the methods."""
        told = f"{self.outcome} of each level of {self.factor} against {self.base}"
        if self.margin is not None:
            told += f", equivalence within {self.margin:g}"
        if self.looks:
            listed = ", ".join(map(str, self.looks))
            return f"{told}, at {listed} seeds, each at p < {self.level:.4f}"
        return (
            f"{told}, with an interval of ±{self.half_width:g} by Stein's two stages "
            f"and a pilot of {self.pilot} seeds"
        )
