"""The outcomes of the arms of a study, by seed, where all arms have finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

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

    @property
    def replicated(self) -> bool:
        """True if there are several runs of each arm and seed."""
        return all(cells.shape[1] > 1 for cells in self.cells.values())

    @classmethod
    def of(
        cls,
        frame: "pd.DataFrame",
        factor: str,
        outcome: str,
        base: Any,
        others: Sequence[str] = (),
    ) -> "Outcomes":
        """The outcomes of a table of runs; see ``compare``."""
        check_columns(frame, factor, outcome, base, others)
        frame = frame.assign(**{factor: [_hashable(v) for v in frame[factor]]})
        arms = tuple(dict.fromkeys(frame[factor]))
        every = tuple(dict.fromkeys(frame[SEED]))
        groups = dict(list(frame.groupby([factor, SEED], sort=False, dropna=False)))
        expected = max(len(rows) for rows in groups.values())
        left_out: dict[Any, str] = {}
        for seed in every:
            for arm in arms:
                why = _missing(groups.get((arm, seed)), expected)
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
        failed = {
            arm: np.mean([_failed(groups.get((arm, seed))) for seed in every])
            for arm in arms
        }
        failing = {arm: float(part) for arm, part in failed.items() if part > FAILING}
        return cls(arms, seeds, cells, left_out, failing)


def check_columns(
    frame: "pd.DataFrame", factor: str, outcome: str, base: Any, others: Sequence[str]
) -> None:
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
    done = frame[frame[STATE] == FINISHED]
    wrong = [
        (case, value)
        for case, value in zip(done.get("case", done.index), done[outcome])
        if not isinstance(value, Real | np.bool_) or np.isnan(float(value))
    ]
    if wrong:
        case, value = wrong[0]
        raise ValueError(
            f"the outcome {outcome!r} must be a number in each finished run, and is not "
            f"in {len(wrong)} of {len(done)}: in case {case} it is {value!r}"
        )


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


def _missing(rows: "pd.DataFrame | None", expected: int) -> str:
    """Why a seed of an arm does not count; empty if it does."""
    if rows is None or len(rows) < expected:
        return "has fewer runs than other arms"
    for state in rows[STATE]:
        if state != FINISHED:
            return "failed" if state == FAILED else f"is {state}"
    return ""


def _failed(rows: "pd.DataFrame | None") -> bool:
    return rows is not None and bool((rows[STATE] == FAILED).any())


def _cells(rows: "pd.DataFrame", outcome: str, others: Sequence[str]) -> list[float]:
    """A value for each replicate: the mean over the levels of other factors."""
    if not others:
        return [float(value) for value in rows[outcome]]
    values = rows[outcome].astype(float).groupby(rows[REPLICATE], sort=False)
    return [float(value) for value in values.mean()]


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
