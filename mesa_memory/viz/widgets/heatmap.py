"""A heat map of any size: agents down, steps across."""

from collections.abc import Callable

import solara


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
        event_pick: called with the ``row`` and ``column`` that were clicked, or reached
            with the arrow keys.
    """
