"""Calls, tokens and money: by purpose and step, by whom, and how long they took."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import case, func, or_, select

from mesa_memory.runs import Run
from mesa_memory.stores import schema

calls = schema.calls
#: what the chart can show: its label, and its unit
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
#: most bars of the distribution of latencies
BARS = 40


@dataclass(frozen=True)
class Spent:
    """What was spent for each purpose in each step.

    Attributes:
        steps: the finished steps.
        purposes: in order of their names.
        counts: ``MEASURES``, each of shape (purposes, steps); beside them ``unpriced``
            (how many calls have no known price), ``cached`` and ``kept``. A cost is NaN
            where a call has no known price.
    """

    steps: list[float]
    purposes: list[str]
    counts: dict[str, np.ndarray]

    def until(self, step: float) -> dict[str, float | None]:
        """All sums from the beginning to the end of a step; see ``at``."""
        return self._sums(slice(0, self.steps.index(step) + 1))

    def at(self, step: float) -> dict[str, float | None]:
        """The sums of a step; a cost is None if a part of it is unknown."""
        place = self.steps.index(step)
        return self._sums(slice(place, place + 1))

    def _sums(self, columns: slice) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for name, values in self.counts.items():
            total = float(values[:, columns].sum())
            found[name] = None if np.isnan(total) else total
        return found

    def series(self, measure: str, summed: bool) -> list[tuple[str, list[Any]]]:
        """For each purpose, its numbers step by step; None is unknown.

        Args:
            measure: one of ``MEASURES``.
            summed: from the beginning to each step, not of the step alone.

        Raises:
            ValueError: for another measure.
        """
        if measure not in MEASURES:
            raise ValueError(
                f"measure is one of {', '.join(MEASURES)}, got {measure!r}"
            )
        values = self.counts[measure]
        if summed:
            values = values.cumsum(axis=1)
        return [
            (purpose, [None if np.isnan(v) else float(v) for v in row])
            for purpose, row in zip(self.purposes, values)
        ]


def spent(run: Run) -> Spent:
    """What was spent until now; calls between two steps count to the later one."""
    rows = run.rows(
        select(
            calls.c.purpose,
            calls.c.step,
            func.count(),
            func.coalesce(func.sum(calls.c.tokens_in), 0),
            func.coalesce(func.sum(calls.c.tokens_out), 0),
            func.coalesce(func.sum(calls.c.cost), 0.0),
            func.count() - func.count(calls.c.cost),
            func.coalesce(func.sum(_as_number(calls.c.cached)), 0),
            func.coalesce(func.sum(calls.c.tokens_cached), 0),
            func.coalesce(func.sum(_as_number(calls.c.kept)), 0),
        )
        .where(calls.c.run == run.id)
        .group_by(calls.c.purpose, calls.c.step)
    )
    steps = run.steps
    names = (
        "calls", "tokens_in", "tokens_out", "known", "unpriced", "cached",
        "tokens_cached", "kept",
    )  # fmt: skip
    purposes = sorted({row[0] or "" for row in rows})
    sums: dict[str, np.ndarray] = defaultdict(
        lambda: np.zeros((len(purposes), len(steps)))
    )
    for name in names:
        _ = sums[name]
    for purpose, step, *numbers in rows:
        column = int(np.searchsorted(steps, step))
        if column < len(steps):
            for name, value in zip(names, numbers):
                sums[name][purposes.index(purpose or ""), column] += value
    sums["tokens"] = sums["tokens_in"] + sums["tokens_out"]
    sums["cost"] = np.where(sums["unpriced"] > 0, np.nan, sums["known"])
    return Spent(steps, purposes, dict(sums))


def _as_number(column: Any) -> Any:
    return case((column.is_(True), 1), else_=0)


def unpriced(run: Run) -> list[tuple[str, int]]:
    """The models that have calls without a known price, and how many."""
    rows = run.cost("model", as_records=True)
    return [(row["model"] or "?", row["unpriced"]) for row in rows if row["unpriced"]]


def grouped(run: Run, by: Sequence[str]) -> list[dict[str, Any]]:
    """Sums by some of purpose, model, agent, most tokens first.

    As ``Run.cost`` gives them, with ``tokens``, ``share`` (of all tokens, 0 to 1; None
    if there are none) and ``seconds``, the mean of the calls that were sent.
    """
    rows = run.cost(tuple(by), as_records=True)
    total = sum(row["tokens_in"] + row["tokens_out"] for row in rows)
    found = []
    for row in rows:
        tokens = row["tokens_in"] + row["tokens_out"]
        sent = row["calls"] - row["cached_calls"] - row["kept_calls"]
        own = {
            "tokens": tokens,
            "share": tokens / total if total else None,
            "seconds": row["latency"] / sent if sent else None,
        }
        found.append(row | own)
    return sorted(found, key=lambda row: (-row["tokens"], -row["calls"]))


@dataclass(frozen=True)
class Waits:
    """How long calls took.

    Attributes:
        edges: in seconds, rising, one more than there are bars; each is a fixed factor
            above the one before.
        bars: for each purpose, how many calls fall between two edges.
        facts: for each purpose ``calls``, ``median``, ``p95`` and ``longest``, seconds.
        cached: calls answered from a recorded run or kept answers, which are left out.
        instant: calls that took no measurable time, which are in no bar.
    """

    edges: list[float]
    bars: dict[str, list[int]]
    facts: dict[str, dict[str, float]]
    cached: int
    instant: int


def waits(run: Run) -> Waits:
    """How long the calls took that were sent."""
    rows = run.rows(
        select(
            calls.c.purpose,
            calls.c.latency,
            _as_number(or_(calls.c.cached, calls.c.kept)),
        ).where(calls.c.run == run.id)
    )
    took: dict[str, list[float]] = defaultdict(list)
    for purpose, seconds, from_memory in rows:
        if not from_memory and seconds is not None and seconds >= 0:
            took[purpose or ""].append(seconds)
    timed = {name: np.array(values) for name, values in sorted(took.items())}
    measured = [values[values > 0] for values in timed.values()]
    whole = np.concatenate(measured) if measured else np.zeros(0)
    edges = _edges(whole)
    return Waits(
        edges.tolist(),
        {
            name: np.histogram(values[values > 0], edges)[0].tolist()
            for name, values in timed.items()
            if len(edges)
        },
        {name: _facts(values) for name, values in timed.items()},
        sum(bool(row[2]) for row in rows),
        sum(map(len, timed.values())) - len(whole),
    )


def _edges(seconds: np.ndarray) -> np.ndarray:
    """Four bars to a doubling, fewer if there would be too many; none of nothing."""
    if not len(seconds):
        return np.zeros(0)
    low, high = np.log2(seconds.min()), np.log2(seconds.max())
    count = int(np.clip(np.ceil((high - low) * 4), 1, BARS))
    # A little wider, so that rounding leaves nobody out.
    return np.exp2(np.linspace(low - 1e-6, max(high, low + 0.25) + 1e-6, count + 1))


def _facts(seconds: np.ndarray) -> dict[str, float]:
    return {
        "calls": len(seconds),
        "median": float(np.median(seconds)),
        "p95": float(np.percentile(seconds, 95)),
        "longest": float(seconds.max()),
    }
