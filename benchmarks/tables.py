"""How the benchmarks are called, and how they show their rows."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def options(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """What the command line says; a benchmark's text is its help.

    Args:
        doc: text of the benchmark.
        **defaults: options and what they are by default. Of a text or a number the
            option has the type; ``False`` is a switch; of anything else, such as a
            table by name, it names one or more, by default all.
    """
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=doc, formatter_class=form)
    for name, default in {**defaults, "json": False}.items():
        given: dict[str, Any] = {"type": type(default), "default": default}
        if default is False:
            given = {"action": "store_true"}
        elif not isinstance(default, str | int | float):
            given = {"nargs": "+", "choices": list(default), "default": list(default)}
        parser.add_argument(f"--{name.replace('_', '-')}", **given)
    return parser.parse_args()


def show(
    title: str, rows: Sequence[dict[str, Any]], digits: int = 2, as_json: bool = False
) -> None:
    """Prints rows with the same keys as a table, or as a line of JSON.

    Args:
        digits: of fractions in the table.
        as_json: see ``--json`` of ``options``.
    """
    if as_json:
        print(json.dumps(rows), flush=True)
        return
    table = Table(title=title)
    for heading in rows[0]:
        table.add_column(heading.replace("_", " "), justify="right", overflow="fold")
    for row in rows:
        table.add_row(
            *(
                f"{value:,.{digits}f}" if isinstance(value, float) else str(value)
                for value in row.values()
            )
        )
    Console(width=160).print(table)
