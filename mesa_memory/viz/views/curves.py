"""Options of charts over steps that several views share."""

from collections.abc import Sequence
from typing import Any

from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets.chart import COLOURS, DASHES, SYMBOLS
from mesa_memory.viz.widgets.timeline import number

#: with fewer steps than this each has its symbol
SYMBOL_STEPS = 60


def over_steps(
    steps: Sequence[float], unit: str, series: list[dict[str, Any]], gap: bool = False
) -> dict[str, Any]:
    """A chart with the steps along its x axis.

    Args:
        steps: the places of the values.
        unit: of the values.
        series: as ECharts takes them.
        gap: there is room around each step, as bars need it.
    """
    return along([number(step) for step in steps], "Step", unit, series, gap)


def along(
    names: Sequence[str], what: str, unit: str, series: list[dict[str, Any]], gap: bool
) -> dict[str, Any]:
    """A chart with these names along its x axis; ``what`` says what they are."""
    return {
        "grid": {"left": 76, "right": 24, "top": 32, "bottom": 72},
        "tooltip": {"trigger": "axis"},
        "legend": {"type": "scroll", "bottom": 0},
        "xAxis": {
            "type": "category",
            "data": list(names),
            "name": what,
            "nameLocation": "middle",
            "nameGap": 26,
            "boundaryGap": gap,
        },
        "yAxis": {"type": "value", "name": unit},
        "series": series,
    }


def line(n: int, name: str, values: list[Any], shade: float = 0) -> dict[str, Any]:
    """The n-th line of a chart: by colour, dash and symbol.

    Args:
        values: one for each step.
        shade: of the area below it, 0 to 1.
    """
    return {
        "name": name,
        "type": "line",
        "symbol": SYMBOLS[n % len(SYMBOLS)],
        "showSymbol": len(values) < SYMBOL_STEPS,
        "triggerLineEvent": True,
        "color": COLOURS[n % len(COLOURS)],
        "lineStyle": {"type": DASHES[n % len(DASHES)], "width": 2},
        "areaStyle": {"opacity": shade},
        "data": values,
    }


def bar(n: int, name: str, values: list[Any]) -> dict[str, Any]:
    """The n-th part of stacked bars: by colour, and all but the first by pattern."""
    pattern = {
        "symbol": SYMBOLS[n % len(SYMBOLS)],
        "symbolSize": 0.6,
        "dashArrayX": [6, 6],
    }
    return {
        "name": name,
        "type": "bar",
        "stack": "all",
        "color": COLOURS[n % len(COLOURS)],
        "itemStyle": {"decal": pattern} if n else {},
        "data": values,
    }


def lying(
    names: Sequence[str], unit: str, series: list[dict[str, Any]]
) -> dict[str, Any]:
    """Bars that lie one below the other, each with its name at the left."""
    return {
        "grid": {"left": 8, "right": 32, "top": 8, "bottom": 64, "containLabel": True},
        "tooltip": {"trigger": "item"},
        "legend": {"type": "scroll", "bottom": 0},
        "xAxis": {
            "type": "value",
            "name": unit,
            "nameLocation": "middle",
            "nameGap": 26,
        },
        "yAxis": {"type": "category", "inverse": True, "data": list(names)},
        "series": [one | {"barMaxWidth": 28} for one in series],
    }


def to_step(
    selection: Selection, steps: Sequence[float], event: dict[str, Any]
) -> None:
    """Chooses the step that was clicked in a chart."""
    index = event.get("index")
    if isinstance(index, int) and 0 <= index < len(steps):
        selection.choose(step=steps[index])
