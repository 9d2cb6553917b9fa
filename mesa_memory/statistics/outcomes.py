"""The outcomes of the arms of a study, by seed, where all arms have finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from mesa_memory.statistics.difference import number

if TYPE_CHECKING:
    import pandas as pd

SEED, REPLICATE, STATE = "seed", "replicate", "state"
FINISHED, FAILED = "finished", "failed"
#: the share of seeds above which a failing arm is named
FAILING = 0.1


@dataclass(frozen=True)
class Outcomes:
    """One outcome of several arms at the same seeds.

    Attributes:
        arms: levels of the factor, in the order of the study.
        seeds: that all arms have finished, in the order of the study; at least two.
        cells: an array of shape (seeds, replicates) for each arm.
        left_out: why another seed is not among ``seeds``.
        failing: the share of seeds in which an arm failed, if above 10%.
    """

    arms: tuple[Any, ...]
    seeds: tuple[Any, ...]
    cells: Mapping[Any, np.ndarray]
    left_out: Mapping[Any, str]
    failing: Mapping[Any, float]

    @property
    def means(self) -> dict[Any, np.ndarray]:
        """A value for each seed, by arm."""
        return {arm: cells.mean(axis=1) for arm, cells in self.cells.items()}

    @classmethod
    def of(
        cls,
        frame: "pd.DataFrame",
        factor: str,
        outcome: str,
        base: Any,
        others: Sequence[str] = (),
        leave_out_nan: bool = False,
        bounds: tuple[float, float] | None = None,
    ) -> "Outcomes":
        """The outcomes of a table of runs; arguments and errors are those of ``compare``."""
        check_columns(frame, factor, outcome, base)
        check_numbers(frame, outcome, leave_out_nan)
        frame = frame.assign(**{factor: [_hashable(v) for v in frame[factor]]})
        arms = tuple(dict.fromkeys(frame[factor]))
        every = tuple(dict.fromkeys(frame[SEED]))
        groups = dict(list(frame.groupby([factor, SEED], sort=False, dropna=False)))
        expected = max(len(rows) for rows in groups.values())
        left_out: dict[Any, str] = {}
        for seed in every:
            for arm in arms:
                why = _missing(groups.get((arm, seed)), expected, outcome)
                if why:
                    left_out.setdefault(seed, f"{arm} {why}")
        seeds = tuple(seed for seed in every if seed not in left_out)
        _check_seeds(seeds, every, left_out)
        cells = {
            arm: np.array(
                [_cells(groups[arm, seed], outcome, others) for seed in seeds]
            )
            for arm in arms
        }
        _check_bounds(bounds, np.concatenate([v.ravel() for v in cells.values()]))
        rows = zip(frame[STATE], frame[factor], frame[SEED])
        failed = {(arm, seed) for state, arm, seed in rows if state == FAILED}
        parts = {arm: sum(a == arm for a, _ in failed) / len(every) for arm in arms}
        failing = {arm: part for arm, part in parts.items() if part > FAILING}
        return cls(arms, seeds, cells, left_out, failing)


@dataclass(frozen=True)
class VarianceParts:
    """Parts of the variance of the difference of two single runs.

    Attributes:
        seed: what both arms share at a seed; both arms have it alike.
        seed_by_arm: how the effect differs between seeds; more seeds reduce it.
        model: how runs of one seed differ; replicates reduce it, too.
    """

    seed: float
    seed_by_arm: float
    model: float

    @classmethod
    def of(cls, arm: np.ndarray, base: np.ndarray) -> "VarianceParts":
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


def check_columns(frame: "pd.DataFrame", factor: str, outcome: str, base: Any) -> None:
    """Raises unless the columns are there and hold what a comparison needs."""
    for kind, name in (("factor", factor), ("outcome", outcome)):
        if name not in frame.columns:
            raise ValueError(
                f"there is no {kind} {name!r}; the columns are {', '.join(map(str, frame.columns))}"
            )
    levels = list(dict.fromkeys(map(_hashable, frame[factor])))
    if base not in levels:
        raise ValueError(
            f"base={base!r} is no level of {factor!r}; the levels are {levels}"
        )
    if len(levels) < 2:
        raise ValueError(
            f"{factor!r} has the single level {base!r}: a comparison needs another arm"
        )
    if frame[SEED].isna().any():
        raise ValueError(
            "runs without a seed cannot be paired: give the study seeds, such as "
            "seeds=range(10)"
        )


def check_numbers(frame: "pd.DataFrame", outcome: str, leave_out_nan: bool) -> None:
    """Raises unless the outcome of each finished run is a finite number.

    Args:
        leave_out_nan: NaN is allowed.
    """
    done = frame[frame[STATE] == FINISHED]
    wrong = [
        (seed, value)
        for seed, value in zip(done[SEED], done[outcome])
        if not isinstance(value, Real | np.bool_)
        or not (np.isfinite(float(value)) or (leave_out_nan and value != value))
    ]
    if not wrong:
        return
    seed, value = wrong[0]
    told = (
        f"the outcome {outcome!r} must be a finite number in each finished run, and is "
        f"not in {len(wrong)} of {len(done)}: at seed {seed} it is {value!r}"
    )
    if all(value != value for _, value in wrong):
        told += ". leave_out_nan=True leaves these seeds out"
    raise ValueError(told)


def _check_seeds(
    seeds: Sequence[Any], every: Sequence[Any], left_out: Mapping[Any, str]
) -> None:
    if len(seeds) < 2:
        why = "; ".join(f"seed {seed}: {why}" for seed, why in left_out.items())
        raise ValueError(
            f"a comparison needs at least 2 seeds that all arms have finished, and "
            f"{len(seeds)} of {len(every)} are ({why or 'no other seeds'}). Run the "
            "study, or give it more seeds; print(study.status()) has the errors."
        )


def _missing(rows: "pd.DataFrame | None", expected: int, outcome: str) -> str:
    """Why a seed of an arm does not count; empty if it does."""
    if rows is None or len(rows) < expected:
        return "has fewer runs than other arms"
    for state in rows[STATE]:
        if state != FINISHED:
            return "failed" if state == FAILED else f"is {state}"
    return "has NaN" if rows[outcome].isna().any() else ""


def _check_bounds(bounds: tuple[float, float] | None, values: np.ndarray) -> None:
    """Raises for outcomes beyond the bounds."""
    if bounds is None:
        return
    low, high = bounds
    if not low < high or values.min() < low or values.max() > high:
        raise ValueError(
            f"bounds must be the lowest and the highest possible outcome, got {bounds!r} "
            f"for outcomes from {number(values.min())} to {number(values.max())}"
        )


def _cells(rows: "pd.DataFrame", outcome: str, others: Sequence[str]) -> list[float]:
    """A value for each replicate: the mean over the levels of other factors."""
    if not others:
        return [float(value) for value in rows[outcome]]
    values = rows[outcome].astype(float).groupby(rows[REPLICATE], sort=False)
    return [float(value) for value in values.mean()]


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
