"""Cost: calls, tokens and money by purpose and step, against the budget; latency."""

from typing import Any

import solara

from mesa_memory.services import Services
from mesa_memory.viz.data import cost as data
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.source import Source
from mesa_memory.viz.widgets import (
    Chart,
    Choose,
    Column,
    Empty,
    Fact,
    Note,
    Section,
    Table,
)
from mesa_memory.viz.widgets.chart import COLOURS, DASHES, SYMBOLS
from mesa_memory.viz.widgets.timeline import number

LABELS = {name: label for name, (label, _) in data.MEASURES.items()}
WAYS = {"step": "in each step", "summed": "until each step"}
GROUPS = {
    "purpose": "purpose",
    "model": "model",
    "purpose,model": "purpose and model",
    "agent": "agent",
}


@solara.component
def CostView(source: Source, selection: Selection) -> Any:
    """What was spent, on what, and how long it took."""
    spent, step = source.of(data.spent), selection.step(source)
    with solara.Column(gap="0px"):
        if not spent.purposes or step is None:
            Empty(
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
            if until["cached"]:
                Fact("calls answered from memory", written("calls", until["cached"]))
            _budget(source, until)
        missing = source.of(data.unpriced)
        if missing:
            told = ", ".join(f"{model} ({count:,} calls)" for model, count in missing)
            Note(
                f"No price is known for: {told}. What they cost is not counted as 0 but "
                f"unknown; the other calls cost {written('cost', until['known'])} until "
                "here.",
                "warning",
            )


def _budget(source: Source, until: dict[str, float | None]) -> None:
    for name, most in limits(source).items():
        used = until[name]
        share = "unknown" if used is None else f"{used / most:.0%}" if most else "all"
        told = f"of the budget of {written(name, most)} {LABELS[name].lower()}"
        Fact(told, share)


def limits(source: Source) -> dict[str, float]:
    """The budget of a model that runs in this process, by measure; else nothing."""
    recorder = getattr(source._feed, "_recorder", None)
    model = recorder._model() if recorder is not None else None
    if model is None:
        return {}
    budget = Services.of(model).ledger.budget
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
    if limit is not None:
        line = {"yAxis": limit, "name": "budget"}
        series[0]["markLine"] = {
            "symbol": "none",
            "data": [line],
            "label": {"formatter": "budget", "position": "insideEndTop"},
            "lineStyle": {"color": "#D55E00", "type": "dashed", "width": 2},
        }
    return {
        "grid": {"left": 76, "right": 24, "top": 32, "bottom": 72},
        "tooltip": {"trigger": "axis"},
        "legend": {"type": "scroll", "bottom": 0},
        "xAxis": {
            "type": "category",
            "data": [number(step) for step in spent.steps],
            "name": "Step",
            "nameLocation": "middle",
            "nameGap": 26,
        },
        "yAxis": {
            "type": "value",
            "name": data.MEASURES[measure][0].lower(),
            # Else a limit that is far away would be outside.
            **({"max": _above(limit, spent, measure)} if limit is not None else {}),
        },
        "series": series,
    }


def _above(limit: float, spent: data.Spent, measure: str) -> float:
    used = spent.until(spent.steps[-1])[measure] if spent.steps else 0
    return 1.05 * max(limit, used or 0)


def _one(n: int, name: str, values: list[Any], summed: bool) -> dict[str, Any]:
    own: dict[str, Any] = {"name": name, "stack": "all", "data": values}
    own["color"] = COLOURS[n % len(COLOURS)]
    if not summed:
        decal = SYMBOLS[n % len(SYMBOLS)]
        # Told apart by patterns, too; the first is plain.
        pattern = {"symbol": decal, "symbolSize": 0.6, "dashArrayX": [6, 6]}
        return own | {"type": "bar", "itemStyle": {"decal": pattern} if n else {}}
    return own | {
        "type": "line",
        "showSymbol": False,
        "areaStyle": {"opacity": 0.5},
        "lineStyle": {"type": DASHES[n % len(DASHES)]},
    }


@solara.component
def Groups(source: Source, selection: Selection) -> Any:
    """A table of sums over the whole run."""
    by = selection.option("cost_by", "purpose,model", GROUPS)
    names = by.split(",")
    rows = source.of(data.grouped, tuple(names))
    columns = {
        "calls": "calls",
        "tokens_in": "tokens in",
        "tokens_out": "tokens out",
        "share": "share of tokens",
        "cost": "US dollars",
        "seconds": "mean seconds",
        "failures": "failed",
        "cached_calls": "from memory",
    }
    heads = [Column(name) for name in names]
    heads += [Column(label, number=True) for label in columns.values()]
    with Section("Whole run", hint="sums over all finished steps"):
        Choose(
            "A row for each",
            by,
            GROUPS,
            lambda value: selection.set_option("cost_by", value),
        )
        Table(
            heads,
            [
                [row[name] for name in names] + [_cell(row, name) for name in columns]
                for row in rows
            ],
            file=f"cost-by-{by.replace(',', '-')}",
        )


def _cell(row: dict[str, Any], name: str) -> Any:
    if name == "cost" and row["unpriced"]:
        return "unknown"
    return row[name]


@solara.component
def Latency(source: Source) -> Any:
    """How long calls took, as a distribution."""
    waits = source.of(data.waits)
    option = solara.use_memo(lambda: _distribution(waits), [id(waits)])
    rows = [
        [name, facts["calls"], facts["median"], facts["p95"], facts["longest"]]
        for name, facts in waits.facts.items()
    ]
    with Section("Latency", hint="seconds that a call took, the whole run"):
        if waits.cached:
            solara.Text(f"{waits.cached:,} calls answered from memory are left out.")
        if not waits.edges:
            Empty(
                "No call took a measurable time. Offline language models answer at "
                "once; a recorded run of a real one has a distribution here.",
                "mdi-timer-off-outline",
            )
            return
        if waits.instant:
            solara.Text(f"{waits.instant:,} calls took no measurable time; no bar.")
        Chart(
            option,
            label="Distribution of the seconds that calls took, by purpose",
            height=260,
            file="latency",
        )
        numbers = ("calls", "median", "95 %", "longest")
        heads = [Column("purpose"), *(Column(name, number=True) for name in numbers)]
        Table(heads, rows, file="latency")


def _distribution(waits: data.Waits) -> dict[str, Any]:
    # Bars of a logarithmic width: each is named by where it ends.
    names = [f"≤ {edge:.3g}" for edge in waits.edges[1:]]
    return {
        "grid": {"left": 56, "right": 24, "top": 32, "bottom": 72},
        "tooltip": {"trigger": "axis"},
        "legend": {"type": "scroll", "bottom": 0},
        "xAxis": {
            "type": "category",
            "data": names,
            "name": "seconds",
            "nameLocation": "middle",
            "nameGap": 26,
        },
        "yAxis": {"type": "value", "name": "calls", "minInterval": 1},
        "series": [
            _one(n, name or "?", list(values), False)
            for n, (name, values) in enumerate(waits.bars.items())
        ],
    }


def written(name: str, value: float | None) -> str:
    """A number with its unit; an unknown one is said."""
    if value is None:
        return "unknown"
    return f"${value:,.4f}" if name in ("cost", "known") else f"{value:,.0f}"
