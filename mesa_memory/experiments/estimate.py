"""An estimate of what runs will use: by purpose, by model and tier, beside the count."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mesa_memory.experiments.growth import Sum
from mesa_memory.runs.table import Table

#: what a forecast is compared in: the name in a ledger, and in a recorded run
QUANTITIES = {
    "calls": "calls",
    "prompt_tokens": "tokens_in",
    "cached_tokens": "tokens_cached",
    "completion_tokens": "tokens_out",
    "cost": "cost",
}


@dataclass(frozen=True)
class Line:
    """What one purpose of requests will use in one run, by the pilot's own count."""

    purpose: str
    calls: Sum
    prompt: Sum
    cached: Sum
    completion: Sum


@dataclass(frozen=True)
class Priced:
    """What all runs will use with one model in one service tier.

    Attributes:
        prompt: tokens of prompts, as the model's own tokenizer counts where it is known.
        cached: those of them that the provider reads from its cache.
        completion: tokens of replies.
        cost: US dollars; None if the price is unknown.
    """

    model: str
    tier: str
    prompt: Sum
    cached: Sum
    completion: Sum
    cost: Sum | None

    def times(self, runs: int) -> "Priced":
        """So much for each of several runs: what a pilot missed, it missed of all."""
        cost = None if self.cost is None else self.cost * runs
        prompt, read, said = self.prompt, self.cached, self.completion
        return Priced(
            self.model, self.tier, prompt * runs, read * runs, said * runs, cost
        )


@dataclass(frozen=True)
class Estimate:
    """The forecast of runs of one model.

    Attributes:
        agents, steps: of each run.
        runs: how many there are.
        lines: by purpose, of one run.
        priced: of all runs, one for each named model and tier.
        pilots: agents and steps of each pilot.
    """

    agents: int
    steps: int
    runs: int
    lines: tuple[Line, ...]
    priced: tuple[Priced, ...]
    pilots: tuple[tuple[int, int], ...]

    @property
    def calls(self) -> Sum:
        """Requests to the model in all runs."""
        return sum((line.calls for line in self.lines), Sum(0.0, 0.0)) * self.runs

    @property
    def tokens(self) -> Sum:
        """Tokens in and out in all runs: of the first model, or at four characters."""
        if self.priced:
            return self.priced[0].prompt + self.priced[0].completion
        own = (line.prompt + line.completion for line in self.lines)
        return sum(own, Sum(0.0, 0.0)) * self.runs

    def times(self, runs: int) -> "Estimate":
        """The same forecast for another number of runs, of an estimate of one run."""
        return replace(
            self, runs=runs, priced=tuple(each.times(runs) for each in self.priced)
        )

    def purposes(self, *, as_records: bool = False) -> Any:
        """Calls and tokens by purpose, of all runs; tokens at four characters each."""
        rows = [
            {
                "purpose": line.purpose,
                **_range("calls", line.calls * self.runs),
                "prompt_tokens": round(line.prompt.value * self.runs),
                "cached_tokens": round(line.cached.value * self.runs),
                "completion_tokens": round(line.completion.value * self.runs),
            }
            for line in self.lines
        ]
        return Table.of(rows).given(as_records)

    def costs(self, *, as_records: bool = False) -> Any:
        """What each model costs in each tier, with an interval of 90%."""
        rows = [
            {
                "model": each.model,
                "tier": each.tier,
                "calls": round(self.calls.value),
                "prompt_tokens": round(each.prompt.value),
                "cached_tokens": round(each.cached.value),
                "completion_tokens": round(each.completion.value),
                **_range("cost", each.cost),
            }
            for each in self.priced
        ]
        return Table.of(rows).given(as_records)

    def beside(
        self, counted: Any, model: str | None = None, *, as_records: bool = False
    ) -> Any:
        """The forecast beside what was counted, in a table.

        Args:
            counted: a ``Usage`` (``ledger.total``), a ``Run``, or a mapping with the
                names of a ``Usage``.
            model: which of the models and tiers that were priced, as ``"model"`` or
                ``"model tier"``; None is the first.
            as_records: a list of dicts instead of a DataFrame.

        Raises:
            ValueError: if the model was not priced.
        """
        told, found = self._forecast(model), _counts(counted)
        rows = []
        for name, forecast in told.items():
            count = found.get(name)
            known = forecast is not None and count
            rows.append(
                {
                    "quantity": name,
                    **_range("forecast", forecast),
                    "counted": count,
                    "difference": forecast.value / count - 1 if known else None,  # type: ignore[union-attr,operator]
                }
            )
        return Table.of(rows).given(as_records)

    def _forecast(self, model: str | None) -> dict[str, Sum | None]:
        named = {f"{each.model} {each.tier}".strip(): each for each in self.priced}
        if model is None and not named:
            own = [(line.prompt, line.cached, line.completion) for line in self.lines]
            sums = [sum(column, Sum(0.0, 0.0)) * self.runs for column in zip(*own)]
            prompt, cached, said = sums or [Sum(0.0, 0.0)] * 3
            unpriced = (self.calls, prompt, cached, said, None)
            return dict(zip(QUANTITIES, unpriced))
        chosen = next(iter(named.values())) if model is None else named.get(model)
        if chosen is None:
            raise ValueError(
                f"there is no estimate for {model!r}; there are {', '.join(named)}"
            )
        parts = (
            self.calls, chosen.prompt, chosen.cached, chosen.completion, chosen.cost,
        )  # fmt: skip
        return dict(zip(QUANTITIES, parts))


def _counts(counted: Any) -> Mapping[str, Any]:
    """What was counted, by the names of a ledger."""
    if isinstance(counted, Mapping):
        return counted
    if hasattr(counted, "cost") and callable(counted.cost):  # a recorded run
        (row,) = counted.cost((), as_records=True)
        return {name: row[column] for name, column in QUANTITIES.items()}
    return {name: getattr(counted, name) for name in QUANTITIES}


def _range(name: str, told: Sum | None) -> dict[str, Any]:
    """A number and the ends of its interval, which is never below zero."""
    if told is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: told.value, f"{name}_low": told.low, f"{name}_high": told.high}


def combined(parts: Sequence[tuple[int, Estimate]]) -> Estimate:
    """Forecasts of one run each that are added (1), or taken away (-1) as parts of those.

    What is taken away takes nothing of the error away.

    Args:
        parts: sign and forecast, for the same models and tiers; the first is added.
    """

    def total(sums: Iterable[tuple[int, Sum]]) -> Sum:
        several = list(sums)
        value = sum(sign * each.value for sign, each in several)
        return Sum(
            max(value, 0.0), sum(each.error for sign, each in several if sign > 0)
        )

    names = list(
        dict.fromkeys(line.purpose for _, part in parts for line in part.lines)
    )
    lines = []
    for name in names:
        own = [(sign, ln) for sign, p in parts for ln in p.lines if ln.purpose == name]
        counts = (
            total((sign, getattr(line, count)) for sign, line in own)
            for count in ("calls", "prompt", "cached", "completion")
        )
        lines.append(Line(name, *counts))
    first, priced = parts[0][1], []
    for place, each in enumerate(first.priced):
        same = [(sign, part.priced[place]) for sign, part in parts]
        costs = [(sign, one.cost) for sign, one in same if one.cost is not None]
        priced.append(
            Priced(
                each.model,
                each.tier,
                total((sign, one.prompt) for sign, one in same),
                total((sign, one.cached) for sign, one in same),
                total((sign, one.completion) for sign, one in same),
                total(costs) if len(costs) == len(same) else None,
            )
        )
    return replace(first, lines=tuple(lines), priced=tuple(priced))
