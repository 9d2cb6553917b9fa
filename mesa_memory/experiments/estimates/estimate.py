"""An estimate of the requests of runs, by purpose and by model."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.runs.table import Table

#: quantities of a forecast, by their names in a ledger
QUANTITIES = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost")


class Range(NamedTuple):
    """The mean of the pilots, and the lowest and highest of them; None if unknown."""

    value: Any
    low: Any
    high: Any

    @classmethod
    def of(cls, values: np.ndarray) -> "Range":
        """The range of the pilots' values, shape (pilots,)."""
        if np.isnan(values).any():
            return cls(None, None, None)
        return cls(float(values.mean()), float(values.min()), float(values.max()))

    def named(self, name: str) -> dict[str, Any]:
        """As columns of a table."""
        return dict(zip((name, f"{name}_low", f"{name}_high"), self))


@dataclass(frozen=True)
class Estimate(NotebookShown):
    """The forecast of runs of one model.

    Attributes:
        agents, steps: of each run.
        runs: number of runs.
        counts: of all runs by purpose, shape (pilots, 5), as in ``QUANTITIES``; tokens
            at four characters each, and no cost (NaN).
        priced: the same by model; tokens as the model's own tokenizer counts them where
            it is known, and the cost in US dollars.
        pilots: agents and steps of each pilot.
        labels: what varies in a study, by factor.
    """

    agents: int
    steps: int
    runs: int
    counts: Mapping[str, np.ndarray]
    priced: Mapping[str, np.ndarray]
    pilots: tuple[tuple[int, int], ...]
    labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> Range:
        """Requests in all runs."""
        return Range.of(self._total()[:, 0])

    @property
    def tokens(self) -> Range:
        """Tokens in and out in all runs: of the first model, or at four characters."""
        total = self._total()
        return Range.of(total[:, 1] + total[:, 3])

    @property
    def cost(self) -> Range:
        """US dollars of all runs, with the model that is priced first."""
        return Range.of(self._total()[:, 4])

    def _total(self) -> np.ndarray:
        """All purposes, for the model that is priced first."""
        none = np.zeros((len(self.pilots), len(QUANTITIES)))
        none[:, 4] = np.nan
        return next(iter(self.priced.values()), sum(self.counts.values(), none))

    def of(
        self, models: Collection[str], runs: int, labels: Mapping[str, Any]
    ) -> "Estimate":
        """The forecast of an arm's runs and of some models, from that of one run."""
        counts = {name: values * runs for name, values in self.counts.items()}
        priced = {k: v * runs for k, v in self.priced.items() if k in models}
        return replace(self, runs=runs, counts=counts, priced=priced, labels=labels)

    def purposes(self, *, as_records: bool = False) -> Any:
        """Calls and tokens by purpose; tokens at four characters each."""
        rows = [
            {
                "purpose": name,
                **Range.of(values[:, 0]).named("calls"),
                **_tokens(values),
            }
            for name, values in self.counts.items()
        ]
        return Table.of(rows).given(as_records)

    def costs(self, *, as_records: bool = False) -> Any:
        """The cost with each model, with the range over the pilots."""
        rows = [
            {"model": model, "calls": round(self.calls.value)}
            | _tokens(values)
            | Range.of(values[:, 4]).named("cost")
            for model, values in self.priced.items()
        ]
        return Table.of(rows).given(as_records)


def _tokens(values: np.ndarray) -> dict[str, int]:
    means = values.mean(axis=0)[1:4]
    return {name: round(float(n)) for name, n in zip(QUANTITIES[1:4], means)}
