"""Cost: calls, tokens and money by purpose and step, against the budget; latency."""

from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data.requests import cost as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.nothing import SeeMemories
from mesa_memory.viz.views.requests.cost_tables import Groups, Latency
from mesa_memory.viz.widgets import Chart, Choose, Fact, Note, Section
from mesa_memory.viz.widgets.timeline import number

LABELS = {name: label for name, (label, _) in data.MEASURES.items()}
#: shown where there is something to show
ANSWERED = {
    "tokens_cached": "tokens in from providers' caches",
    "kept_calls": "calls answered from a cache",
    "cached_calls": "calls answered from a recorded run",
}
WAYS = {"step": "in each step", "summed": "until each step"}


@solara.component
def CostView(source: Source, selection: Selection) -> Any:
    """What was spent, on what, and how long it took."""
    spent, step = source.of(data.spent), selection.step(source)
    with solara.Column(gap="0px"):
        if not spent.purposes or step is None:
            SeeMemories(
                selection,
                "No language model was asked until now. Memories such as STLTMemory and "
                "EpisodicMemory ask one as soon as enough has happened.",
                "mdi-currency-usd-off",
            )
            return
        Sums(source, spent, step)
        Course(source, selection, spent, step)
        Groups(source, selection)
        Latency(source)


@solara.component
def Sums(source: Source, spent: data.Spent, step: float) -> Any:
    """The sums of the step, and until its end."""
    with Section(
        f"Until step {number(step)}", hint="all agents; in brackets this step"
    ):
        now, until = spent.at(step), spent.until(step)
        with solara.Div(classes=["mm-row"]):
            for name in ("calls", "tokens_in", "tokens_out", "cost"):
                told = f"{written(name, until[name])} ({written(name, now[name])})"
                Fact(LABELS[name].lower(), told)
            for name, label in ANSWERED.items():
                if until[name]:
                    Fact(label, written(name, until[name]))
            _budget(source, until)
        missing = source.of(data.unpriced)
        if missing:
            told = ", ".join(f"{model} ({count:,} calls)" for model, count in missing)
            Note(
                f"No price is known for: {told}. Their cost is unknown, and is not counted "
                f"as 0; the other calls have cost {written('cost', until['known'])} so "
                "far.",
                "warning",
            )


def _budget(source: Source, until: dict[str, float | None]) -> None:
    for name, most in limits(source).items():
        used = until[name]
        share = "unknown" if used is None else f"{used / most:.1%}" if most else "all"
        told = f"of the budget of {written(name, most)} {LABELS[name].lower()}"
        Fact(told, share)


def limits(source: Source) -> dict[str, float]:
    """The budget of a model that runs in this process, by measure; else nothing."""
    budget = source.budget
    if budget is None:
        return {}
    given = {"calls": budget.calls, "tokens": budget.tokens, "cost": budget.cost}
    return {name: float(most) for name, most in given.items() if most is not None}


@solara.component
def Course(source: Source, selection: Selection, spent: data.Spent, step: float) -> Any:
    """Step by step, a bar for each purpose; or the sum so far, and its limit."""
    measure = selection.option("cost_measure", "tokens", data.MEASURES)
    way = selection.option("cost_way", "step", WAYS)
    limit = limits(source).get(measure) if way == "summed" else None
    option = solara.use_memo(
        lambda: _course(spent, measure, way == "summed", limit),
        [id(spent), measure, way, limit],
    )
    label, meaning = data.MEASURES[measure]
    with Section(f"{label} by purpose", hint=f"{meaning}, {WAYS[way]}"):
        with solara.Div(classes=["mm-row"]):
            Choose(
                "Shown",
                measure,
                LABELS,
                lambda value: selection.set_option("cost_measure", value),
            )
            Choose(
                "Counted",
                way,
                WAYS,
                lambda value: selection.set_option("cost_way", value),
            )
        if measure == "cost" and spent.counts["unpriced"].any():
            Note(
                "Where the price of a call is unknown, the chart has a gap. Choose "
                f"“{LABELS['known']}” to see the sum of the others."
            )
        Chart(
            option,
            label=f"{label} of all agents by purpose, {WAYS[way]}",
            cursor=number(step),
            file=f"cost-{measure}-{way}",
        )


def _course(
    spent: data.Spent, measure: str, summed: bool, limit: float | None
) -> dict[str, Any]:
    series = [
        _one(n, name or "?", values, summed)
        for n, (name, values) in enumerate(spent.series(measure, summed))
    ]
    unit = "US dollars" if measure in ("cost", "known") else measure.partition("_")[0]
    option = curves.over_steps(spent.steps, unit, series, gap=not summed)
    if limit is not None and series:
        series[0]["markLine"] = {
            "symbol": "none",
            "data": [{"yAxis": limit, "name": "budget"}],
            "label": {"formatter": "budget", "position": "insideEndTop"},
            "lineStyle": {"color": "#D55E00", "type": "dashed", "width": 2},
        }
        # Else a limit that is far away would be outside.
        option["yAxis"]["max"] = _above(limit, spent, measure)
    return option


def _above(limit: float, spent: data.Spent, measure: str) -> float:
    used = spent.until(spent.steps[-1])[measure] if spent.steps else 0
    return 1.05 * max(limit, used or 0)


def _one(n: int, name: str, values: list[Any], summed: bool) -> dict[str, Any]:
    if not summed:
        return curves.bar(n, name, values)
    return curves.line(n, name, values, shade=0.5) | {"stack": "all"}


def written(name: str, value: float | None) -> str:
    """A number with its unit; an unknown one is said."""
    if value is None:
        return "unknown"
    return f"${value:,.4f}" if name in ("cost", "known") else f"{value:,.0f}"
