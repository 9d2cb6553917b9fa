"""Output of a command: tables and texts for people, or one JSON object."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import click

from mesa_memory.cli.console import cell
from mesa_memory.core.render import one_line

#: rows of a table without ``--limit``
DEFAULT_ROWS = 200
#: below this width, a table that does not fit is printed as blocks of "heading: value"
NARROW_CHARS = 100
#: headings of columns; all others are the column's name
HEADINGS = {
    "prompt_tokens": "tokens in", "completion_tokens": "tokens out", "tokens_in": "tokens in",
    "tokens_out": "tokens out", "tokens_cached": "of them cached",
    "cached_calls": "from the cache", "failures": "failed", "latency": "seconds",
    "cost": "US dollars",
}  # fmt: skip


def printed(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that prints tables; it gets an ``output``."""

    @wraps(command)
    def printing(as_json: bool, limit: int | None, **given: Any) -> None:
        output = Output(as_json, limit)
        command(output=output, **given)
        output.end()

    limit = click.option(
        "--limit",
        type=click.IntRange(min=0),
        metavar="ROWS",
        help=f"Most rows of each table; 0 prints all.  [default: {DEFAULT_ROWS}; with --json all]",
    )
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object, for programs."
    )
    return as_json(limit(printing))


class Output:
    """Prints tables and texts at once, or collects them for one JSON object.

    Args:
        as_json: collect; ``end`` prints the object.
        limit: most rows of each table; 0 is all, None is ``DEFAULT_ROWS`` for people and all
            for programs.

    Attributes:
        as_json: as given.
    """

    def __init__(self, as_json: bool = False, limit: int | None = None) -> None:
        self.as_json = as_json
        self._limit = (0 if as_json else DEFAULT_ROWS) if limit is None else limit
        self._collected: dict[str, Any] = {}

    def table(
        self,
        key: str,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Mapping[str, Any]],
    ) -> None:
        """Rows under a title.

        Args:
            key: names them in the JSON object, where they have all their columns.
            title: stands above them.
            columns: the keys of a row that people see; see ``HEADINGS``.
            rows: what agents say in them is shown as text.
        """
        from rich.console import Console

        shown = rows[: self._limit or None]
        if self.as_json:
            self._collected[key] = [dict(row) for row in shown]
            return
        if len(shown) < len(rows):
            title = (
                f"{title} (the first {len(shown)} of {len(rows)}; --limit 0 for all)"
            )
        table = _table(title, columns, shown)
        console = Console(markup=False, emoji=False, highlight=False)
        width, wide = console.width, Console(width=10_000)
        if width >= NARROW_CHARS or wide.measure(table).maximum <= width:
            console.print(table)
        else:
            self._blocks(title, columns, shown)

    def fields(self, key: str, values: Mapping[str, Any]) -> None:
        """Named values, one a line; empty ones are left out for people."""
        if self.as_json:
            self._collected[key] = dict(values)
            return
        for name, value in values.items():
            if value not in (None, {}, ""):
                print(f"{name:12} {cell(value)}")
        print()

    def text(self, key: str, heading: str, text: str) -> None:
        """A text of several lines, as it is."""
        if self.as_json:
            self._collected[key] = text
            return
        print(heading)
        for line in text.split("\n"):
            print(f"  {one_line(line)}")

    def report(self, told: str, **data: Any) -> None:
        """A text of the library for people; for programs the data under their names."""
        if self.as_json:
            self._collected |= data
            return
        for line in told.split("\n"):
            print(one_line(line))

    def end(self) -> None:
        """Prints the JSON object, if that was asked for and there is one."""
        if self._collected:
            text = json.dumps(
                self._collected, ensure_ascii=False, default=str, indent=1
            )
            print(text)

    def _blocks(
        self, title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """A table on a narrow screen: each row a block."""
        print(title)
        headings = {name: _heading(name) for name in columns}
        width = max(map(len, headings.values()))
        for row in rows:
            print()
            for name, heading in headings.items():
                if (value := cell(row[name])) != "":
                    print(f"{heading:{width}}  {value}")
        print()


def _heading(name: str) -> str:
    return HEADINGS.get(name, name.replace("_", " "))


def _table(title: str, columns: Sequence[str], rows: Sequence[Any]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(_heading(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(row[name])) for name in columns))
    return table
