"""Cost: calls, tokens and money by purpose and step, against the budget."""

from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.core.content import dollars
from mesa_memory.runtime.services import Services
from mesa_memory.viz.data.requests import cost as data
from mesa_memory.viz.views.focus import Focus

LABELS = {name: label for name, (label, _) in data.MEASURES.items()}
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
    spent = focus.source.of(data.spent)
    with solara.Column(gap="0px"):
        ui.Answer(_answer(focus, spent))
        Course(focus, spent)
        Sums(focus, spent)
        Groups(focus)


def _answer(focus: Focus, spent: data.Spent) -> str:
    until = spent.until(focus.step)
    return (
        f"Until step {ui.number(focus.step)}, {written('calls', until['calls'])} calls had "
        f"{written('tokens', until['tokens'])} tokens and cost "
        f"{written('cost', until['cost'])}, most tokens for {spent.most(focus.step)}."
    )


def Sums(focus: Focus, spent: data.Spent) -> Any:
    """The sums of the step, and until its end."""
    now, until = spent.at(focus.step), spent.until(focus.step)
    with ui.Section(
        f"Until step {ui.number(focus.step)}", "all agents; in brackets this step"
    ):
        facts = {
            LABELS[name].lower(): f"{written(name, until[name])} "
            f"({written(name, now[name])})"
            for name in ("calls", "tokens_in", "tokens_out", "cost")
        }
        facts |= {
            SAVED[name]: written(name, until[name]) for name in SAVED if until[name]
        }
        for name, limit in _limits(focus).items():
            used = until[name]
            share = "unknown share" if used is None else f"{used / limit:.1%}"
            label = f"{LABELS[name].lower()} budget used"
            facts[label] = f"{share} of {written(name, limit)}"
        ui.Facts(facts)
        missing = [
            f"{row['model'] or '?'} ({row['unpriced']:,} calls)"
            for row in focus.source.of(data.grouped, ("model",))
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


@solara.component
def Course(focus: Focus, spent: data.Spent) -> Any:
    """Step by step, a bar for each purpose."""
    selection = focus.selection
    measure = selection.option("cost_measure", "tokens", data.MEASURES)
    option = solara.use_memo(lambda: _course(spent, measure), [id(spent), measure])
    label, meaning = data.MEASURES[measure]
    with ui.Section(f"{label} by purpose", f"{meaning}, in each step"):
        if measure == "cost" and spent.counts["unpriced"].any():
            ui.Note(
                "Where the price of a call is unknown, the chart has a gap. Choose "
                f"“{LABELS['known']}” to see the sum of the others."
            )
        curves.StepChart(
            focus,
            option,
            spent.steps,
            label=f"{label} of all agents by purpose, in each step",
            file=f"cost-{measure}",
        )
        ui.Choose("Shown", measure, LABELS, selection.setter("cost_measure"))


def _course(spent: data.Spent, measure: str) -> dict[str, Any]:
    series = [
        curves.bar(n, name or "?", values)
        for n, (name, values) in enumerate(spent.series(measure))
    ]
    unit = "US dollars" if measure in ("cost", "known") else measure.partition("_")[0]
    return curves.over_steps(spent.steps, unit, series, gap=True)


def Groups(focus: Focus) -> Any:
    """A table of sums over the whole run."""
    source, selection = focus.source, focus.selection
    by = selection.option("cost_by", "purpose,model", GROUPS)
    rows = source.of(data.grouped, tuple(by.split(",")))

    def whose(row: dict[str, Any], name: str) -> Any:
        return source.called(row[name]) if name == "agent" else row[name]

    def cell(row: dict[str, Any], name: str) -> Any:
        return "unknown" if name == "cost" and row["unpriced"] else row[name]

    with ui.Section("Whole run", "sums over all finished steps"):
        ui.Choose("Rows by", by, GROUPS, selection.setter("cost_by"))
        columns = {
            name: (lambda row, name=name: whose(row, name)) for name in by.split(",")
        }
        columns |= {
            label: (lambda row, name=name: cell(row, name))
            for name, label in SUMS.items()
            if name not in RARE or any(row[name] for row in rows)
        }
        ui.Table(columns, rows, file=f"cost-by-{by.replace(',', '-')}")


def written(name: str, value: float | None) -> str:
    """A number with its unit; None is unknown, or not reported by the provider."""
    if value is None:
        return "not reported" if name.startswith("tokens") else "unknown"
    return f"${dollars(value)}" if name in ("cost", "known") else f"{value:,.0f}"
