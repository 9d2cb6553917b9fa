"""Calls, tokens and money: by purpose and step, or by agent."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.runs import Run

#: measures of the chart: label and unit
MEASURES = {
    "calls": ("Calls", "requests to language models"),
    "tokens_in": ("Tokens in", "tokens of the prompts"),
    "tokens_out": ("Tokens out", "tokens of the replies"),
    "tokens": ("Tokens", "tokens of prompts and replies"),
    "tokens_cached": (
        "Cached tokens in",
        "tokens of the prompts that providers read from their caches",
    ),
    "cost": ("Money", "US dollars"),
    "known": ("Money, priced calls", "US dollars of calls that have a price"),
}


@dataclass(frozen=True)
class Spent:
    """Costs of each purpose in each step.

    Attributes:
        steps: the finished steps.
        purposes: in order of their names.
        counts: ``MEASURES``, each of shape (purposes, steps); beside them ``unpriced``
            (the number of calls without a known price), ``replayed_calls`` and ``cached_calls``. A cost
            with an unknown part is NaN.
    """

    steps: list[float]
    purposes: list[str]
    counts: dict[str, np.ndarray]

    def until(self, step: float) -> dict[str, float | None]:
        """All sums from the beginning to the end of a step; see ``at``."""
        return self._sums(slice(0, self.steps.index(step) + 1))

    def at(self, step: float) -> dict[str, float | None]:
        """The sums of a step; None for a cost with an unknown part."""
        place = self.steps.index(step)
        return self._sums(slice(place, place + 1))

    def most(self, step: float) -> str:
        """The purpose with most tokens from the beginning to the end of a step."""
        until = self.counts["tokens"][:, : self.steps.index(step) + 1].sum(axis=1)
        return self.purposes[int(until.argmax())] or "an unknown purpose"

    def _sums(self, columns: slice) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for name, values in self.counts.items():
            total = float(values[:, columns].sum())
            found[name] = None if np.isnan(total) else total
        return found

    def series(self, measure: str) -> list[tuple[str, list[Any]]]:
        """For each purpose, its numbers step by step; None is unknown.

        Args:
            measure: one of ``MEASURES``.
        """
        return [
            (purpose, [None if np.isnan(v) else float(v) for v in row])
            for purpose, row in zip(self.purposes, self.counts[measure])
        ]


def spent(run: Run) -> Spent:
    """Costs until now; calls between two steps count to the later one."""
    steps = run.steps
    rows = run.cost(("purpose", "step", "model"), as_records=True)
    purposes = sorted({row["purpose"] or "" for row in rows})
    names = (
        "calls", "tokens_in", "tokens_out", "tokens_cached", "unpriced", "replayed_calls",
        "cached_calls", "cost",
    )  # fmt: skip
    sums = {name: np.zeros((len(purposes), len(steps))) for name in names}
    for row in rows:
        column = bisect_left(steps, row["step"])
        if column < len(steps):
            for name in names:
                place = purposes.index(row["purpose"] or ""), column
                sums[name][place] += row[name] or 0
    sums["tokens"] = sums["tokens_in"] + sums["tokens_out"]
    sums["known"] = sums["cost"]
    sums["cost"] = np.where(sums["unpriced"] > 0, np.nan, sums["known"])
    return Spent(steps, purposes, sums)


def grouped(run: Run, by: Sequence[str]) -> list[dict[str, Any]]:
    """Sums by some of purpose, model, agent, most tokens first.

    As ``Run.cost`` gives them, with ``tokens``, ``share`` (of all tokens, 0 to 1; None
    without tokens) and ``seconds``, the mean of the calls that were sent.
    """
    rows = run.cost(tuple(by), as_records=True)
    total = sum(row["tokens_in"] + row["tokens_out"] for row in rows)
    found = []
    for row in rows:
        tokens = row["tokens_in"] + row["tokens_out"]
        sent = row["calls"] - row["replayed_calls"] - row["cached_calls"]
        own = {
            "tokens": tokens,
            "share": tokens / total if total else None,
            "seconds": row["latency"] / sent if sent else None,
        }
        found.append(row | own)
    return sorted(found, key=lambda row: (-row["tokens"], -row["calls"]))
