"""A chart by Apache ECharts, with PNG and SVG to download, and a heat map of any size."""

import json
from collections.abc import Callable
from typing import Any

import solara

#: Okabe and Ito's colours, told apart by all; the first for what matters most
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442",
    "#999999",
)  # fmt: skip
#: symbols and dashes that tell lines apart without colours
SYMBOLS = ("circle", "triangle", "rect", "diamond", "roundRect", "pin", "arrow")
DASHES = ("solid", "dashed", "dotted")


@solara.component_vue("chart.vue")
def _Chart(
    drawing: str, cursor: Any, height: int, label: str, file: str, event_pick: Any
) -> None: ...


def Chart(
    option: dict[str, Any],
    *,
    label: str,
    file: str,
    cursor: Any = None,
    height: int = 300,
    on_pick: Callable[[int], None] = lambda _: None,
) -> Any:
    """An ECharts figure; its theme follows the page.

    Args:
        option: as ECharts takes it. Agents' words may stand in it as plain names, but
            never in a ``formatter``.
        label: describes the figure to screen readers.
        file: name of the files, without their ending.
        cursor: name on the x axis where a line marks the selected step; None draws
            none. It is moved without drawing anything else anew, and along an axis
            called ``Step`` at once when the page's slider moves.
        height: in pixels.
        on_pick: called with the place of the item that was clicked in its series.
    """
    return _Chart(
        # As text: else every drawing of the page would walk through all of it.
        drawing=json.dumps(option),
        cursor=cursor,
        height=height,
        label=label,
        file=file,
        event_pick=on_pick,
    )


@solara.component_vue("heatmap.vue")
def Heatmap(
    values: str,
    agents: list[str],
    columns: list[str],
    row: int,
    column: int,
    height: int,
    label: str,
    file: str,
    names: list[str],
    colours: list[str],
    event_pick: Callable[[dict[str, int]], None],
) -> None:
    """Numbers as colours (viridis); pointing at a cell says its number.

    Args:
        values: float32 numbers row by row, in Base64; NaN is shown as unknown, 0 as
            background.
        agents, columns: names of the rows and columns.
        row, column: the selection, -1 for nothing.
        height: in pixels.
        label: describes the picture to screen readers.
        file: name of the PNG, without its ending.
        names: of kinds, for values that are their places from 1; empty for numbers.
        colours: of the kinds, in turn.
        event_pick: called with the ``row`` and ``column`` that were clicked, or reached
            with the arrow keys.
    """
