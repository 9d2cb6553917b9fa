"""Charts of who thinks what of whom, as ECharts takes them."""

from collections.abc import Callable, Sequence
from typing import Any

from mesa_memory.viz.data.contents.impressions import (
    HeldOpinion,
    Opinions,
    Places,
    line,
)
from mesa_memory.viz.widgets.chart import COLOURS
from mesa_memory.viz.widgets.timeline import number

#: of hostile, neutral and friendly: told apart by all, on light and on dark ground
HOSTILE, NEITHER, FRIENDLY = "#D55E00", "#A8A8A8", "#0072B2"
#: what tells the same without colours
DASHES = {"+": "solid", "−": "dashed", "0": "dotted", "?": "dotted"}
#: a sign on an arrow, upright and near its beginning
BADGE: dict[str, Any] = {
    "position": "start",
    "distance": -34,
    "align": "center",
    "verticalAlign": "middle",
    "color": "#222222",
    "backgroundColor": "#F5F5F5",
    "borderColor": "#555555",
    "borderWidth": 1,
    "borderRadius": 8,
    "padding": [2, 4],
    "lineHeight": 13,
}
#: where names stand if there is room for all, and else those of a few
IN_NODE = {"show": True, "color": "#222222", "fontSize": 11}
BESIDE_NODE = {"show": False, "fontSize": 11, "position": "right"}
#: most agents with room for their names and signs; and for names within their circles
NAMED_AGENTS, INSIDE_AGENTS = 40, 15
#: most characters of a name within a circle
INSIDE_CHARS = 3
#: most arrows with a sign on each; more signs than this hide each other
SIGNED_ARROWS = 32


def graph(
    places: Places,
    drawn: Sequence[HeldOpinion],
    chosen: tuple[Any, Any],
    called: Callable[[Any], str] = str,
) -> dict[str, Any]:
    """Arrows from who thinks to whom it is about.

    Args:
        places: of the agents that are drawn, in this order.
        drawn: an arrow each, in this order.
        chosen: observer and subject that stand out.
        called: how people call an agent.
    """
    number = {one: n for n, one in enumerate(places)}
    room = len(places) <= NAMED_AGENTS
    short = all(len(called(one)) <= INSIDE_CHARS for one in places)
    inside = short and len(places) <= INSIDE_AGENTS
    size = 26 if inside else 15 if room else 9
    near = {one for o in drawn if chosen[0] in _pair(o) for one in _pair(o)}
    names = set(places) if room else near | set(chosen)
    nodes = [
        {"id": str(n), "name": called(one), "x": 1000 * x, "y": 1000 * y}
        | ({} if inside or one not in names else {"label": _beside(x, y)})
        | ({} if one not in chosen else _outstanding(size, one == chosen[0]))
        for n, (one, (x, y)) in enumerate(places.items())
    ]
    links = [
        {
            "source": str(number[opinion.observer]),
            "target": str(number[opinion.subject]),
            "value": _rounded(opinion.sentiment),
            "lineStyle": _stroke(opinion, 5.0 if room else 2.0),
        }
        | ({"label": _sign(opinion) | BADGE} if len(drawn) <= SIGNED_ARROWS else {})
        for opinion in drawn
    ]
    series = {
        "type": "graph",
        "layout": "none",
        "nodes": nodes,
        "links": links,
        "edgeSymbol": ["none", "arrow"],
        "edgeSymbolSize": [0, 9 if room else 5],
        "symbolSize": size,
        "itemStyle": {"color": "#E8E8E8", "borderColor": "#555555", "borderWidth": 1},
        "label": IN_NODE if inside else BESIDE_NODE,
        "lineStyle": {"curveness": 0.18, "opacity": 0.8},
        "emphasis": {"focus": "adjacency"},
        "zoom": 0.88,
    }
    return {"tooltip": {}, "series": [series]}


def _beside(x: float, y: float) -> dict[str, Any]:
    """A name away from the middle, so that no arrow crosses it."""
    if abs(x) >= 0.3 * abs(y):
        side = "right" if x >= 0 else "left"
    else:
        side = "bottom" if y > 0 else "top"
    return {"show": True, "position": side}


def _cells(
    found: Opinions, held: Sequence[HeldOpinion], chosen: tuple[Any, Any]
) -> list[Any]:
    place = {one: n for n, one in enumerate(found.people)}
    room = len(found.people) <= NAMED_AGENTS
    cells: list[Any] = []
    for opinion in held:
        at = [place[opinion.subject], place[opinion.observer]]
        value = [*at, _rounded(opinion.sentiment)]
        marked = {"borderColor": "#009E73", "borderWidth": 4}
        own = {"itemStyle": marked} if _pair(opinion) == chosen else {}
        if room:
            own["label"] = _sign(opinion)
        cells.append({"value": value, **own} if own else value)
    return cells


def _axes(names: Sequence[str]) -> tuple[dict[str, Any], int]:
    """The axes of the matrix, and the room that names need at the left."""
    axis = {"type": "category", "data": names, "splitArea": {"show": False}}
    axis["nameLocation"] = "middle"
    # Names are wider than numbers; of very long ones the end is left out.
    wider = 6 * max(0, min(max(map(len, names), default=0), 20) - 4)
    fitted = {"axisLabel": {"width": 24 + wider, "overflow": "truncate"}}
    across = {**axis, "name": "of agent", "position": "top", "nameGap": 22}
    down = {**axis, "name": "agent", "inverse": True, "nameGap": 40 + wider}
    return {"xAxis": across, "yAxis": down | (fitted if wider else {})}, 64 + wider


def matrix(
    found: Opinions,
    held: Sequence[HeldOpinion],
    chosen: tuple[Any, Any],
    called: Callable[[Any], str] = str,
) -> dict[str, Any]:
    """Observers down, subjects across; those whose sentiment is known.

    Args:
        called: how people call an agent.
    """
    room = len(found.people) <= NAMED_AGENTS
    axes, left = _axes([called(one) for one in found.people])
    return {
        "grid": {"left": left, "right": 16, "top": 40, "bottom": 72},
        "tooltip": {},
        **axes,
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
                "data": _cells(found, held, chosen),
                "itemStyle": {"borderColor": "#777777", "borderWidth": 0.5 * room},
            }
        ],
    }


def lines(
    pairs: Sequence[tuple[str, list[HeldOpinion]]], steps: list[float]
) -> dict[str, Any]:
    """Sentiment and familiarity over steps.

    Args:
        pairs: a name, such as "3 of 4", and what one thought of the other.
    """
    series = [
        {
            "name": f"{name}: {what}",
            "type": "line",
            "step": "end",
            "color": COLOURS[n],
            "lineStyle": {"type": dash, "width": 2},
            "symbol": symbol,
            "showSymbol": len(steps) <= 60,
            "data": [_rounded(value) for value in line(opinions, steps, what)],
        }
        for n, (name, opinions) in enumerate(pairs)
        for what, dash, symbol in (
            ("sentiment", "solid", "circle"),
            ("familiarity", "dashed", "emptyTriangle"),
        )
        if opinions
    ]
    return {
        "grid": {"left": 56, "right": 24, "top": 24, "bottom": 72},
        "tooltip": {"trigger": "axis"},
        "legend": {"type": "scroll", "bottom": 0},
        "xAxis": {
            "type": "category",
            "data": [number(step) for step in steps],
            "name": "Step",
            "nameLocation": "middle",
            "nameGap": 26,
        },
        "yAxis": {"type": "value", "min": -1, "max": 1},
        "series": series,
    }


def colour(sentiment: float | None) -> str:
    """Between hostile, neither and friendly."""
    if sentiment is None:
        return NEITHER
    share = min(abs(sentiment), 1.0) ** 0.5
    far = FRIENDLY if sentiment > 0 else HOSTILE
    mixed = [round(a + (b - a) * share) for a, b in zip(_parts(NEITHER), _parts(far))]
    return "#{:02X}{:02X}{:02X}".format(*mixed)


def _parts(colour: str) -> list[int]:
    return [int(colour[n : n + 2], 16) for n in (1, 3, 5)]


def _pair(opinion: HeldOpinion) -> tuple[Any, Any]:
    return opinion.observer, opinion.subject


def _stroke(opinion: HeldOpinion, widest: float) -> dict[str, Any]:
    return {
        "color": colour(opinion.sentiment),
        "width": round(1 + widest * (opinion.familiarity or 0.0), 2),
        "type": DASHES[opinion.sign],
    }


def _sign(opinion: HeldOpinion) -> dict[str, Any]:
    return {"show": True, "formatter": opinion.sign, "fontWeight": "bold"}


def _outstanding(size: int, square: bool) -> dict[str, Any]:
    """How the two agents of the chosen pair look."""
    return {
        "symbol": "rect" if square else "circle",
        "symbolSize": 1.4 * size,
        "itemStyle": {"color": "#F0E442", "borderColor": "#555555", "borderWidth": 3},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
