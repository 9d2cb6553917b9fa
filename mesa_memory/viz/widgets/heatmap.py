"""A heat map of any size: agents down, steps across."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
import solara


@solara.component_vue("heatmap.vue")
def _Heatmap(
    values: str,
    agents: list[str],
    columns: list[str],
    row: int,
    column: int,
    height: int,
    label: str,
    file: str,
    event_pick: Callable[[dict[str, int]], None],
) -> None: ...


@solara.component
def Heatmap(
    values: np.ndarray,
    rows: list[str],
    columns: list[str],
    *,
    row: int,
    column: int,
    on_pick: Callable[[int, int], None],
    label: str,
    file: str = "heatmap",
) -> Any:
    """Numbers as colours (viridis); pointing at a cell says its number.

    Args:
        values: shape (rows, columns); NaN is shown as unknown, 0 as background. The
            same array must not be changed later.
        rows, columns: their names.
        row, column: what is selected, -1 for nothing.
        on_pick: called with the row and column that were clicked, or reached with the
            arrow keys.
        label: what the picture shows, for those who cannot see it.
        file: name of the PNG, without its ending.
    """
    numbers = np.ascontiguousarray(values, dtype="<f4")
    packed = solara.use_memo(
        lambda: base64.b64encode(numbers.tobytes()).decode("ascii"), [values]
    )
    return _Heatmap(
        values=packed,
        agents=rows,
        columns=columns,
        row=row,
        column=column,
        height=int(min(max(14 * len(rows), 120), 420)),
        label=label,
        file=file,
        event_pick=lambda at: on_pick(int(at["row"]), int(at["column"])),
    )
