"""How the benchmarks show their rows."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def show(title: str, rows: Sequence[dict[str, Any]], digits: int = 2) -> None:
    """Prints rows with the same keys as a table; fractions have ``digits`` digits."""
    table = Table(title=title)
    for heading in rows[0]:
        table.add_column(heading.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(
            *(
                f"{value:,.{digits}f}" if isinstance(value, float) else str(value)
                for value in row.values()
            )
        )
    Console(width=130).print(table)


def show_limits(
    title: str, found: Mapping[str, Sequence[float]], limits: Mapping[str, float]
) -> None:
    """Prints the median and the worst of what was measured, beside its limit if any."""
    table = Table("measured", "median", "worst", "limit", title=title)
    for name, values in found.items():
        middle, worst = statistics.median(values), max(values)
        limit = f"{limits[name]:,}" if name in limits else ""
        table.add_row(name, *(f"{v:,.{_digits(v)}f}" for v in (middle, worst)), limit)
    Console().print(table)


def _digits(value: float) -> int:
    return 0 if value >= 100 else 2
