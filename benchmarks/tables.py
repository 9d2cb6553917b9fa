"""How the benchmarks show their rows."""

from collections.abc import Sequence
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
