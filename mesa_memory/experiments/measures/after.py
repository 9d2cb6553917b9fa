"""Outcomes over time: the mean or the area of a measure after a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.core.validate import checked_number, one_of

#: what may be made of the values
FORMS = ("mean", "area")


@dataclass(frozen=True)
class After:
    """An outcome of a study: the mean or the area of one of its measures after a step.

    Args:
        measure: name of the study's measure.
        step: the values of later steps count; for the area, its own, too.
        form: ``"mean"``, or ``"area"`` (below the line through the values).

    Example:
        >>> str(After("trust", 10))
        'the mean of trust after step 10'
    """

    measure: str
    step: float = 0
    form: str = "mean"

    def __post_init__(self) -> None:
        checked_number("step", self.step)
        one_of("form", FORMS, self.form)

    def __call__(self, model: Any) -> None:
        """Nothing: it is made from the table of measures."""

    def __str__(self) -> str:
        return f"the {self.form} of {self.measure} after step {self.step:g}"

    def of(self, values: Sequence[tuple[float, Any]]) -> float | None:
        """The outcome of a run; None without enough values.

        Args:
            values: step and value, by step; those that are not numbers do not count.
        """
        first = self.step if self.form == "area" else np.nextafter(self.step, np.inf)
        kept = [
            (step, float(value))
            for step, value in values
            if step >= first and isinstance(value, int | float)
        ]
        if len(kept) < (2 if self.form == "area" else 1):
            return None
        steps, found = np.array(kept).T
        if self.form == "mean":
            return float(found.mean())
        return float((np.diff(steps) * (found[1:] + found[:-1]) / 2).sum())
