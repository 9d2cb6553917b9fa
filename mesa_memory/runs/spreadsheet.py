"""Cells of CSV files, which people open in spreadsheets.

A spreadsheet runs a text as a formula if it begins with ``= + - @``, a tabulator or a line
break; some also trim spaces before, or take full-width signs for the others. Such a text
gets an apostrophe in front. Numbers stay numbers.
"""

import csv
import re
from collections.abc import Iterable
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
    known = frame.astype(object).where(frame.notna(), None)
    write_rows(path, list(frame.columns), known.itertuples(index=False, name=None))


def write_rows(path: Path, names: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Writes a CSV file, row by row; None is empty."""
    # A lone surrogate, which UTF-8 has not, is escaped.
    escape = "backslashreplace"
    with path.open("w", newline="", encoding="utf-8", errors=escape) as file:
        writer = csv.writer(file)
        writer.writerow(map(cell, names))
        writer.writerows(map(cell, row) for row in rows)
