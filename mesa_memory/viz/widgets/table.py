"""A table that is sorted and searched in the browser, and downloaded as CSV."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import solara


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        label: its heading.
        wide: holds texts that may have several lines.
        number: stands at the right.
    """

    label: str
    wide: bool = False
    number: bool = False


@solara.component_vue("table.vue")
def _Table(
    columns: list[dict[str, Any]],
    rows: list[list[Any]],
    marked: list[int],
    mark: str,
    page: int,
    file: str,
    empty: str,
    searchable: bool,
    clickable: bool,
    sort: list[str],
    down: list[bool],
    event_pick: Callable[[int], None],
) -> None: ...


@solara.component
def Table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    *,
    file: str = "table",
    marked: Collection[int] = (),
    mark: str = "new in this step",
    on_pick: Callable[[int], None] | None = None,
    page: int = 10,
    empty: str = "There is nothing here.",
    sort: str | None = None,
    down: bool = False,
) -> Any:
    """A table; every cell is shown as text, whatever an agent has written into it.

    Args:
        columns: in order.
        rows: plain values, one for each column.
        file: name of the CSV file, without its ending.
        marked: places of rows that get a mark at their left.
        mark: what it means.
        on_pick: called with the place of the row that was clicked.
        page: rows shown at once.
        empty: what to say without rows: why, and what to do.
        sort, down: label of the column to sort by at first, and if from high to low.
    """
    heads = [
        {"key": f"c{n}", "label": c.label, "wide": c.wide, "number": c.number}
        for n, c in enumerate(columns)
    ]
    first = [f"c{n}" for n, c in enumerate(columns) if c.label == sort]
    # The CSV has the labels as its heads.
    return _Table(
        columns=heads,
        rows=[list(row) for row in rows],
        marked=sorted(marked),
        mark=mark,
        page=page,
        file=file,
        empty=empty,
        searchable=len(rows) > 5,
        clickable=on_pick is not None,
        sort=first,
        down=[down] * len(first),
        event_pick=on_pick or _nothing,
    )


def _nothing(_: int) -> None:
    """For tables whose rows lead nowhere."""
