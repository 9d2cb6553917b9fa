"""The shares of seed and language model in the variance of results."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class VarianceComponents:
    """The components of a result's variance, in the square of its unit.

    Attributes:
        seed: variance between seeds: worlds and chances differ.
        replicate: variance between replicates of one seed: only the language model's
            answers differ.
        seeds, replicates: number of seeds, and of replicates of each.
    """

    seed: float
    replicate: float
    seeds: int
    replicates: int

    @property
    def share_of_replicates(self) -> float:
        """The part of the variance that is the language model's, 0 to 1; NaN if none."""
        total = self.seed + self.replicate
        return self.replicate / total if total else float("nan")

    def standard_error(self, seeds: int, replicates: int) -> float:
        """Of the mean of a design with these numbers, in the unit of the result."""
        return float(np.sqrt((self.seed + self.replicate / replicates) / seeds))


def variance_components(
    results: pd.DataFrame, value: str, seed: str = "seed", replicate: str = "replicate"
) -> VarianceComponents:
    """Tells seed noise from language-model noise, for one arm of a study.

    The analysis of variance for one random factor in a balanced design (Searle, Casella
    and McCulloch 1992, "Variance Components", section 3.5): the variance within seeds is
    that of replicates, and what the variance of the seeds' means has beyond its share of
    that is the seeds'. An estimate below zero is given as zero.

    Args:
        results: a row for each run.
        value: column of the result.
        seed, replicate: columns that say which run it is.

    Raises:
        ValueError: for fewer than two seeds or replicates, or seeds with different numbers
            of replicates, or a result that is missing.
    """
    missing = [c for c in (value, seed, replicate) if c not in results]
    if missing:
        raise ValueError(f"results have no column {missing}; they have {list(results)}")
    table = results.pivot_table(value, seed, replicate, aggfunc="mean", dropna=False)
    twice = len(results) != table.size
    if min(table.shape) < 2 or twice or table.isna().to_numpy().any():
        raise ValueError(
            "variance components need two seeds or more, each with the same two "
            f"replicates or more, one run for each and no missing {value!r}; got "
            f"{len(results)} runs of {table.shape[0]} seeds and {table.shape[1]} "
            "replicates"
        )
    of = table.to_numpy(dtype=float)
    within = float(of.var(axis=1, ddof=1).mean())
    between = float(of.mean(axis=1).var(ddof=1)) - within / of.shape[1]
    return VarianceComponents(max(0.0, between), within, *of.shape)
