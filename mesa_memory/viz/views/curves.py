"""Charts over steps, and bars, as ECharts takes them."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

import mesa_memory.viz.widgets as ui
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets.chart import COLOURS, DASHES, SYMBOLS

#: with fewer steps than this each has its symbol
SYMBOL_STEPS = 60


def StepChart(
    focus: Focus,
    steps: Sequence[float],
    unit: str,
    series: list[dict[str, Any]],
    label: str,
    file: str,
    height: int = 300,
    gap: bool = False,
    span: tuple[float, float] | None = None,
) -> Any:
    """A chart with steps along its x axis; a click chooses a step.

    Args:
        focus: its step is marked by a line.
        steps, unit, series, gap: see ``over_steps``.
        label, file, height: see ``Chart``.
        span: of the y axis; None is that of the values.
    """

    def pick(place: int) -> None:
        if place < len(steps):  # another run may be shown by now
            focus.selection.choose(step=steps[place])

    cursor = focus.at if focus.step in steps else None
    option = over_steps(steps, unit, series, gap)
    option["yAxis"] |= {} if span is None else dict(zip(("min", "max"), span))
    return ui.Chart(
        option, label=label, file=file, cursor=cursor, height=height, on_pick=pick
    )


def StepMap(
    focus: Focus,
    values: np.ndarray,
    agents: Sequence[Any],
    steps: Sequence[float],
    meaning: str,
    file: str,
    names: Sequence[str] = (),
) -> Any:
    """A heat map with a cell for each agent and step; a click chooses both.

    Args:
        focus: the agent and the step that are marked.
        values: shape (agents, steps); NaN is shown as unknown, 0 as background.
        meaning: of the values.
        file: see ``Heatmap``.
        names: of kinds, whose places from 1 are the values; empty for numbers.
    """

    def pick(at: dict[str, int]) -> None:
        focus.selection.choose(agent=agents[at["row"]], step=steps[at["column"]])

    return ui.Heatmap(
        values=base64.b64encode(values.astype("<f4").tobytes()).decode(),
        agents=[focus.source.called(agent) for agent in agents],
        columns=[ui.number(step) for step in steps],
        row=agents.index(focus.agent) if focus.agent in agents else -1,
        column=steps.index(focus.step) if focus.step in steps else -1,
        height=min(max(14 * len(agents), 120), 420),
        label=f"Heat map: {meaning}, {len(agents)} agents by {len(steps)} steps",
        file=file,
        names=list(names),
        colours=list(COLOURS),
        event_pick=pick,
    )


def over_steps(
    steps: Sequence[float], unit: str, series: list[dict[str, Any]], gap: bool = False
) -> dict[str, Any]:
    """The option of a chart with the steps along its x axis.

    Args:
        steps: the places of the values.
        unit: of the values.
        series: as ECharts takes them.
        gap: there is room around each step, as bars need it.
    """
    return {
        "grid": {"left": 76, "right": 24, "top": 32, "bottom": 72},
        "tooltip": {"trigger": "axis"},
        "legend": {"type": "scroll", "bottom": 0},
        "xAxis": {
            "type": "category",
            "data": [ui.number(step) for step in steps],
            "name": "Step",
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


def faint(n: int, name: str, values: list[Any]) -> dict[str, Any]:
    """A thin line in the colour of the n-th, of which the tooltip says nothing."""
    thin = {"type": "solid", "width": 1, "opacity": 0.35}
    no_tooltip = {"tooltip": {"show": False}, "silent": True, "triggerLineEvent": False}
    return line(n, name, values) | no_tooltip | {"symbol": "none", "lineStyle": thin}


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
