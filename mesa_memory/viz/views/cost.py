"""Cost: calls, tokens and money by purpose and step, against the budget."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import dollars
from mesa_memory.runs import Run
from mesa_memory.runtime.services import Services
from mesa_memory.viz.data.frames import plain
from mesa_memory.viz.views.focus import Focus

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
        return list(zip(self.purposes, map(plain, self.counts[measure])))


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
        own = {"tokens": tokens, "share": tokens / total if total else None}
        found.append(row | own | {"seconds": row["latency"] / sent if sent else None})
    return sorted(found, key=lambda row: (-row["tokens"], -row["calls"]))


LABELS = {name: label for name, (label, _) in MEASURES.items()}
#: shown if they are not 0
SAVED = {
    "tokens_cached": "tokens cached by providers",
    "cached_calls": "calls from response cache",
    "replayed_calls": "calls from recorded run",
}
GROUPS = {
    "purpose": "purpose",
    "model": "model",
    "purpose,model": "purpose and model",
    "agent": "agent",
}
#: columns of sums, by their keys
SUMS = {
    "calls": "calls",
    "tokens_in": "tokens in",
    "tokens_cached": "tokens cached",
    "tokens_out": "tokens out",
    "share": "share of tokens",
    "cost": "US dollars",
    "seconds": "mean seconds",
    "failures": "failed",
    "replayed_calls": "from recorded run",
    "cached_calls": "from response cache",
}
#: columns that are left out if all their numbers are 0
RARE = ("tokens_cached", "replayed_calls", "cached_calls")


@solara.component
def CostView(focus: Focus) -> Any:
    """The calls, tokens and money spent, by purpose, step and agent."""
    known = focus.source.of(spent)
    with solara.Column(gap="0px"):
        ui.Answer(_answer(focus, known))
        Course(focus, known)
        Sums(focus, known)
        Groups(focus)


def _answer(focus: Focus, spent: Spent) -> str:
    until = spent.until(focus.step)
    return (
        f"Until step {focus.at}, {written('calls', until['calls'])} calls had "
        f"{written('tokens', until['tokens'])} tokens and cost "
        f"{written('cost', until['cost'])}, most tokens for {spent.most(focus.step)}."
    )


def Sums(focus: Focus, spent: Spent) -> Any:
    """The sums of the step, and until its end."""
    now, until = spent.at(focus.step), spent.until(focus.step)
    with ui.Section(f"Until step {focus.at}", "all agents; in brackets this step"):
        facts = {}
        for name in ("calls", "tokens_in", "tokens_out", "cost"):
            told = f"{written(name, until[name])} ({written(name, now[name])})"
            facts[LABELS[name].lower()] = told
        for name in filter(until.get, SAVED):
            facts[SAVED[name]] = written(name, until[name])
        for name, limit in _limits(focus).items():
            used = until[name]
            share = "unknown share" if used is None else f"{used / limit:.1%}"
            label = f"{LABELS[name].lower()} budget used"
            facts[label] = f"{share} of {written(name, limit)}"
        ui.Facts(facts)
        missing = [
            f"{row['model'] or '?'} ({row['unpriced']:,} calls)"
            for row in focus.source.of(grouped, ("model",))
            if row["unpriced"]
        ]
        if missing:
            ui.Note(
                f"No price is known for: {', '.join(missing)}. Their cost is unknown, and "
                "is not counted as 0; the other calls have cost "
                f"{written('cost', until['known'])} so far.",
                "warning",
            )


def _limits(focus: Focus) -> dict[str, float]:
    """The budget of a model that runs in this process, by measure; else empty."""
    model = focus.source.feed.model
    if model is None:
        return {}
    budget = Services.of(model).ledger.budget
    given = {"calls": budget.calls, "tokens": budget.tokens, "cost": budget.cost}
    return {name: float(limit) for name, limit in given.items() if limit}


def Course(focus: Focus, spent: Spent) -> Any:
    """Step by step, a bar for each purpose."""
    selection = focus.selection
    measure = selection.option("cost_measure", "tokens", MEASURES)
    bars = [
        curves.bar(n, name or "?", values)
        for n, (name, values) in enumerate(spent.series(measure))
    ]
    unit = "US dollars" if measure in ("cost", "known") else measure.partition("_")[0]
    label, meaning = MEASURES[measure]
    with ui.Section(f"{label} by purpose", f"{meaning}, in each step"):
        if measure == "cost" and spent.counts["unpriced"].any():
            ui.Note(
                "Where the price of a call is unknown, the chart has a gap. Choose "
                f"“{LABELS['known']}” to see the sum of the others."
            )
        told = f"{label} of all agents by purpose, in each step"
        file = f"cost-{measure}"
        curves.StepChart(focus, spent.steps, unit, bars, told, file, gap=True)
        ui.Choose("Shown", measure, LABELS, selection.setter("cost_measure"))


def Groups(focus: Focus) -> Any:
    """A table of sums over the whole run."""
    source, selection = focus.source, focus.selection
    by = selection.option("cost_by", "purpose,model", GROUPS)
    rows = source.of(grouped, tuple(by.split(",")))

    told = [row | {"cost": "unknown"} if row["unpriced"] else row for row in rows]
    if by == "agent":
        told = [row | {"agent": source.called(row["agent"])} for row in told]
    with ui.Section("Whole run", "sums over all finished steps"):
        ui.Choose("Rows by", by, GROUPS, selection.setter("cost_by"))
        columns = dict(zip(by.split(","), by.split(","))) | {
            label: name
            for name, label in SUMS.items()
            if name not in RARE or any(row[name] for row in rows)
        }
        ui.Table(columns, told, file=f"cost-by-{by.replace(',', '-')}")


def written(name: str, value: float | None) -> str:
    """A number with its unit; None is unknown, or not reported by the provider."""
    if value is None:
        return "not reported" if name.startswith("tokens") else "unknown"
    return f"${dollars(value)}" if name in ("cost", "known") else f"{value:,.0f}"
