"""The candidates of a recall as bars, as ECharts takes them."""

from collections.abc import Sequence
from typing import Any

import mesa_memory.viz.views.curves as curves
from mesa_memory.core.content import brief
from mesa_memory.viz.data import recall as data

#: characters of a candidate that are its name
NAME_CHARS = 56


def bars(
    ranked: list[data.Ranked], names: Sequence[str] = data.PARTS
) -> dict[str, Any]:
    """A bar of weighted parts for each, the best at the top.

    Args:
        ranked: candidates, best first.
        names: of the parts, see ``Recall.names``.
    """
    used = [n for n in range(len(names)) if any(one.weighted[n] for one in ranked)]
    series = [
        curves.bar(n, names[n], [round(one.weighted[n], 4) for one in ranked])
        for n in used
    ]
    return {
        "grid": {"left": 8, "right": 32, "top": 32, "bottom": 40, "containLabel": True},
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "legend": {"top": 0},
        "xAxis": {
            "type": "value",
            "name": "score",
            "nameLocation": "middle",
            "nameGap": 26,
        },
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": [_name(one) for one in ranked],
            "axisTick": {"show": False},
        },
        "series": series,
    }


def _name(one: data.Ranked) -> str:
    """Rank, how it changed, whether it was dropped, and how the text begins."""
    dropped = "" if one.candidate.shown else " [dropped]"
    moved = f" {change(one)}" if one.moved else ""
    return f"{one.rank}{moved}{dropped} {brief(one.candidate.text, NAME_CHARS)}"


def change(one: data.Ranked) -> str:
    """By how many places a candidate went up or down."""
    if not one.moved:
        return "="
    return f"▲{one.moved}" if one.moved > 0 else f"▼{-one.moved}"
