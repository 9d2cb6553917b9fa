"""Charts of impressions, as ECharts takes them."""

from collections.abc import Callable, Sequence
from typing import Any

import mesa_memory.viz.views.curves as curves
from mesa_memory.viz.data.contents.impressions import HeldOpinion, Opinions, line
from mesa_memory.viz.widgets.chart import COLOURS

#: of hostile, neutral and friendly: differ for all readers, on light and dark ground
HOSTILE, NEITHER, FRIENDLY = "#D55E00", "#A8A8A8", "#0072B2"
#: most agents whose cells have room for a sign
SIGNED_AGENTS = 40
#: most pixels of an agent's name at an axis
NAME_PX = 140


def matrix(
    found: Opinions,
    held: Sequence[HeldOpinion],
    chosen: tuple[Any, Any],
    called: Callable[[Any], str] = str,
) -> dict[str, Any]:
    """Observers down, subjects across; those whose sentiment is known.

    Args:
        found: all of the run, for the agents.
        held: those of one step.
        chosen: observer and subject of the cell that stands out.
        called: gives an agent's name for people.
    """
    room = len(found.people) <= SIGNED_AGENTS
    axis = {
        "type": "category",
        "data": [called(one) for one in found.people],
        "axisLabel": {"width": NAME_PX, "overflow": "truncate"},
    }
    return {
        "grid": {"left": 8, "right": 72, "top": 40, "bottom": 72, "containLabel": True},
        "tooltip": {},
        "xAxis": axis | {"name": "subject", "position": "top"},
        "yAxis": axis | {"name": "observer", "nameLocation": "start", "inverse": True},
        "visualMap": {
            "min": -1,
            "max": 1,
            "precision": 1,
            "text": ["+1", "−1"],
            "calculable": False,
            "orient": "horizontal",
            "left": "center",
            "bottom": 8,
            "inRange": {"color": [HOSTILE, NEITHER, FRIENDLY]},
        },
        "series": [
            {
                "type": "heatmap",
                "name": "sentiment",
                "data": _cells(found, held, chosen, room),
                "itemStyle": {"borderColor": "#777777", "borderWidth": 0.5 * room},
            }
        ],
    }


def _cells(
    found: Opinions, held: Sequence[HeldOpinion], chosen: tuple[Any, Any], room: bool
) -> list[dict[str, Any]]:
    place = {one: n for n, one in enumerate(found.people)}
    cells: list[dict[str, Any]] = []
    for opinion in held:
        at = [place[opinion.subject], place[opinion.observer]]
        cell: dict[str, Any] = {"value": [*at, _rounded(opinion.sentiment)]}
        if (opinion.observer, opinion.subject) == chosen:
            cell["itemStyle"] = {"borderColor": "#009E73", "borderWidth": 4}
        if room:
            label = {"show": True, "formatter": opinion.sign, "fontWeight": "bold"}
            cell["label"] = label
        cells.append(cell)
    return cells


def lines(
    pairs: Sequence[tuple[str, list[HeldOpinion]]], steps: list[float]
) -> dict[str, Any]:
    """Sentiment and familiarity over steps.

    Args:
        pairs: a name, such as "3 of 4", and the opinions of one of the other.
    """
    series = [
        curves.line(n, f"{name}: {measure}", values)
        | {"step": "end", "color": COLOURS[n], "lineStyle": {"type": dash, "width": 2}}
        for n, (name, opinions) in enumerate(pairs)
        for measure, dash in (("sentiment", "solid"), ("familiarity", "dashed"))
        if opinions
        for values in [[_rounded(v) for v in line(opinions, steps, measure)]]
    ]
    option = curves.over_steps(steps, "", series)
    option["yAxis"] |= {"min": -1, "max": 1}
    return option


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
