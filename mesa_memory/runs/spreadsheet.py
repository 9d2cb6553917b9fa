"""Cells of CSV files, which people open in spreadsheets.

A spreadsheet runs a text as a formula if it begins with ``= + - @``, a tabulator or a line
break; some also trim spaces before, or take full-width signs for the others. Such a text
gets an apostrophe in front. Numbers stay numbers.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

# ``viz/widgets/table.vue`` has the same two expressions.
_FORMULA = re.compile(r"[\t\r\n]|[\s\ufeff\u200b]*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def cell(value: Any) -> Any:
    """A value for a CSV file: text that is not run as a formula, else as it is."""
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    return value if _NUMBER.fullmatch(value) else f"'{value}"


def write_csv(frame: "pandas.DataFrame", path: Path) -> None:
    """Writes a table without its index; neither heads nor cells are formulas."""
    safe = frame.rename(columns=cell)
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind not in "biufcmM":  # numbers and times stay as they are
            values = frame.iloc[:, place].astype(object).map(cell)
            safe.isetitem(place, values.to_numpy(object))
    # A text with one of these two characters is quoted, so it begins no further row.
    safe.to_csv(path, index=False, lineterminator="\r\n")
