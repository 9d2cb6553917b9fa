"""An estimate of the requests of runs: by purpose, by model and tier, beside the count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.experiments.estimates.pilot import COUNTED
from mesa_memory.runs.table import Table

#: quantities of a forecast: the name in a ledger, and in a recorded run
QUANTITIES = {
    "calls": "calls",
    "prompt_tokens": "tokens_in",
    "cached_tokens": "tokens_cached",
    "completion_tokens": "tokens_out",
    "cost": "cost",
}


class Range(NamedTuple):
    """The mean of the pilots, and the lowest and highest of them."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray) -> "Range":
        """The range of the pilots' values, shape (pilots,)."""
        return cls(float(values.mean()), float(values.min()), float(values.max()))


@dataclass(frozen=True)
class Priced:
    """The use of one model in one service tier.

    Attributes:
        counts: shape (pilots, 4), as in ``COUNTED``; tokens as the model's own tokenizer
            counts them where it is known.
        cost: US dollars, shape (pilots,); None if the price is unknown.
    """

    model: str
    tier: str
    counts: np.ndarray
    cost: np.ndarray | None

    @property
    def name(self) -> str:
        """``"model"`` or ``"model tier"``."""
        return f"{self.model} {self.tier}".strip()


@dataclass(frozen=True)
class Estimate:
    """The forecast of runs of one model.

    Attributes:
        agents, steps: of each run.
        runs: number of runs.
        counts: by purpose, of all runs, shape (pilots, 4), as in ``COUNTED``; tokens at
            four characters each.
        priced: of all runs, one for each named model and tier.
        pilots: agents and steps of each pilot.
    """

    agents: int
    steps: int
    runs: int
    counts: Mapping[str, np.ndarray]
    priced: tuple[Priced, ...]
    pilots: tuple[tuple[int, int], ...]

    @property
    def calls(self) -> Range:
        """Requests in all runs."""
        return Range.of(self._sums()[:, 0])

    @property
    def tokens(self) -> Range:
        """Tokens in and out in all runs: of the first model, or at four characters."""
        counts = self.priced[0].counts if self.priced else self._sums()
        return Range.of(counts[:, 1] + counts[:, 3])

    def _sums(self) -> np.ndarray:
        zero = np.zeros((len(self.pilots), len(COUNTED)))
        return sum(self.counts.values(), zero)

    def times(self, runs: int) -> "Estimate":
        """The forecast of several runs, from a forecast of one."""
        priced = tuple(
            replace(
                each,
                counts=each.counts * runs,
                cost=None if each.cost is None else each.cost * runs,
            )
            for each in self.priced
        )
        counts = {name: counted * runs for name, counted in self.counts.items()}
        return replace(self, runs=runs, counts=counts, priced=priced)

    def purposes(self, *, as_records: bool = False) -> Any:
        """Calls and tokens by purpose; tokens at four characters each."""
        rows = [
            {"purpose": name, **_ranged("calls", counts[:, 0]), **_tokens(counts)}
            for name, counts in self.counts.items()
        ]
        return Table.of(rows).given(as_records)

    def costs(self, *, as_records: bool = False) -> Any:
        """The cost of each model in each tier, with the range over the pilots."""
        rows = [
            {
                "model": each.model,
                "tier": each.tier,
                "calls": round(self.calls.value),
                **_tokens(each.counts),
                **_ranged("cost", each.cost),
            }
            for each in self.priced
        ]
        return Table.of(rows).given(as_records)

    def beside(
        self, counted: Any, model: str | None = None, *, as_records: bool = False
    ) -> Any:
        """The forecast beside the count, in a table.

        Args:
            counted: a ``Usage`` (``ledger.total``), a ``Run``, or a mapping with the
                names of a ``Usage``.
            model: a model and tier that was priced, as ``"model"`` or ``"model tier"``;
                None is the first.
            as_records: a list of dicts instead of a DataFrame.

        Raises:
            ValueError: if the model was not priced.
        """
        counts, cost = self._sums(), None
        named = {each.name: each for each in self.priced}
        if model is not None or named:
            chosen = named.get(model or next(iter(named)))
            if chosen is None:
                raise ValueError(
                    f"no estimate for the model {model!r}; choose from {', '.join(named)}"
                )
            counts, cost = chosen.counts, chosen.cost
        rows, used = [], _used(counted)
        for name, values in zip(QUANTITIES, [*counts.T, cost]):
            count = used.get(name)
            known = values is not None and count
            difference = float(values.mean()) / count - 1 if known else None  # type: ignore[operator,union-attr]
            rows.append(
                {"quantity": name, **_ranged("forecast", values), "counted": count}
                | {"difference": difference}
            )
        return Table.of(rows).given(as_records)


def _used(counted: Any) -> Mapping[str, Any]:
    """Counts by the names of a ledger."""
    if isinstance(counted, Mapping):
        return counted
    if callable(getattr(counted, "cost", None)):  # a recorded run
        (row,) = counted.cost((), as_records=True)
        return {name: row[column] for name, column in QUANTITIES.items()}
    return {name: getattr(counted, name) for name in QUANTITIES}


def _tokens(counts: np.ndarray) -> dict[str, int]:
    means = counts.mean(axis=0)
    return {name: round(float(n)) for name, n in zip(COUNTED[1:], means[1:])}


def _ranged(name: str, values: np.ndarray | None) -> dict[str, float | None]:
    """A number and its range."""
    found = (None, None, None) if values is None else Range.of(values)
    return dict(zip((name, f"{name}_low", f"{name}_high"), found))


def combined(parts: Sequence[tuple[int, Estimate]]) -> Estimate:
    """The sum of forecasts of one run each, which are added (1) or taken away (-1).

    Args:
        parts: sign and forecast, for the same models and tiers; the first is added.
    """
    first = parts[0][1]
    zero = np.zeros((len(first.pilots), len(COUNTED)))

    def total(values: Sequence[np.ndarray]) -> np.ndarray:
        signed = [sign * value for (sign, _), value in zip(parts, values)]
        return np.maximum(np.sum(signed, axis=0), 0)

    names = dict.fromkeys(name for _, part in parts for name in part.counts)
    counts = {
        name: total([part.counts.get(name, zero) for _, part in parts])
        for name in names
    }
    priced = []
    for place, each in enumerate(first.priced):
        same = [part.priced[place] for _, part in parts]
        costs = [one.cost for one in same if one.cost is not None]
        cost = total(costs) if len(costs) == len(parts) else None
        summed = total([one.counts for one in same])
        priced.append(replace(each, counts=summed, cost=cost))
    return replace(first, counts=counts, priced=tuple(priced))
