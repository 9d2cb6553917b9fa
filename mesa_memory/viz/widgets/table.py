"""A table that is sorted and searched in the browser, and downloaded as CSV."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import solara

#: characters of a text that needs a wide column
WIDE_CHARS = 40
#: ends of the headings of columns with steps, which have no separators of thousands
TIMES = "step", "since", "until"
#: headings of columns whose key is not their heading
HEADINGS = {
    "outcome": "answered",
    "cost": "US dollars",
    "latency": "seconds",
    "importance": "grade",
    "subject": "about",
    "valid_from": "since step",
}
#: rows of a table that gets a search field
SEARCHED_ROWS = 6


@solara.component_vue("table.vue")
def _Table(
    title: str,
    columns: list[dict[str, Any]],
    cells: str,
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


def Table(
    columns: Mapping[str, str | Callable[[Any], Any]],
    rows: Sequence[Any],
    *,
    title: str = "",
    file: str = "table",
    marked: Callable[[Any], bool] = lambda _: False,
    mark: str = "new in this step",
    on_pick: Callable[[Any], None] | None = None,
    page: int = 10,
    empty: str = "There is nothing here.",
    sort: str | None = None,
    down: bool = False,
    ready: tuple[list[dict[str, Any]], str] | None = None,
) -> Any:
    """A table; every cell is shown as text, also if an agent wrote it.

    Numbers stand at the right, with separators of thousands unless they are steps, a column with a long text is wide, and one that is empty in
    all rows is left out.

    Args:
        columns: by heading, the key or attribute of a row, or a function that gives
            the cell.
        rows: mappings, or other objects.
        title: a heading; empty for none.
        file: name of the CSV file, without its ending.
        marked: True for a row with a mark at its left.
        mark: meaning of the mark.
        on_pick: called with the row that was clicked.
        page: rows shown at once.
        empty: shown without rows: the reason, and what to do.
        sort, down: heading of the column to sort by at first, and if from high to low.
        ready: ``prepared(columns, rows)`` of many rows, kept from the drawing before.
    """
    heads, cells = ready or prepared(columns, rows)
    first = [head["key"] for head in heads if head["label"] == sort]
    return _Table(
        title=title,
        columns=heads,
        cells=cells,
        marked=[n for n, row in enumerate(rows) if marked(row)],
        mark=mark,
        page=page,
        file=file,
        empty=empty,
        searchable=len(rows) >= SEARCHED_ROWS,
        clickable=on_pick is not None,
        sort=first,
        down=[down] * len(first),
        event_pick=lambda place: on_pick(rows[place]) if on_pick else None,
    )


def named(keys: str) -> dict[str, str | Callable[[Any], Any]]:
    """Columns that show a key of the rows each, under its heading.

    Args:
        keys: with spaces between them; an underscore is a space in a heading.
    """
    return {HEADINGS.get(key, key.replace("_", " ")): key for key in keys.split()}


def prepared(
    columns: Mapping[str, str | Callable[[Any], Any]], rows: Sequence[Any]
) -> tuple[list[dict[str, Any]], str]:
    """The columns with their looks, and the cells."""
    given = {label: [_cell(row, get) for row in rows] for label, get in columns.items()}
    # A column without a value says nothing.
    said = {
        label: column
        for label, column in given.items()
        if not rows or any(cell not in (None, "") for cell in column)
    }
    cells = [list(row) for row in zip(*said.values())]
    heads: list[dict[str, Any]] = [
        {
            "key": f"c{n}",
            "label": label,
            "time": label.endswith(TIMES),
            **_looks(column),
        }
        for n, (label, column) in enumerate(said.items())
    ]
    # As text: else every drawing of the page would walk through all the cells.
    return heads, json.dumps(cells, default=str)


def _cell(row: Any, get: str | Callable[[Any], Any]) -> Any:
    if callable(get):
        value = get(row)
    else:
        value = row[get] if isinstance(row, Mapping) else getattr(row, get)
    unknown = isinstance(value, float) and not math.isfinite(value)
    return None if unknown else value


def _looks(cells: list[Any]) -> dict[str, bool]:
    known = [cell for cell in cells if cell is not None]
    numbers = bool(known) and all(isinstance(cell, int | float) for cell in known)
    longest = max((len(cell) for cell in known if isinstance(cell, str)), default=0)
    return {"number": numbers, "wide": longest > WIDE_CHARS}
