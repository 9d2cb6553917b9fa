"""Output of a command, its errors in one line, and options that several commands have."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesa_memory.core.render import one_line, shorten
from mesa_memory.core.text.redaction import cause, scrub
from mesa_memory.errors import MesaMemoryError

if TYPE_CHECKING:
    from mesa_memory.runs import Run


#: exit codes: after a mistake, as of click (1 is an answer of ``diff``); after Ctrl-C
MISTAKEN, INTERRUPTED = 2, 130
#: longest text in a table
CELL_CHARS = 300


class _Ended(click.ClickException):
    """Ends the command with a line and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]  # click declares it for the class


class Commands(click.Group):
    """Commands that end in one line after a user's mistake."""

    def invoke(self, ctx: click.Context) -> Any:
        """See ``click.Group``; also prints where stdout is not UTF-8."""
        if reconfigure := getattr(sys.stdout, "reconfigure", None):
            reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Whoever read the output has seen enough, such as `head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None
        except (ValueError, OSError, MesaMemoryError) as error:
            raise _Ended(one_line(scrub(str(error))), MISTAKEN) from cause(error)
        except KeyboardInterrupt as stop:
            text = "interrupted; the finished steps of recorded runs are kept"
            raise _Ended(text, INTERRUPTED) from stop


def opened(given: str) -> "Run":
    """The run at ``path``, ``path#3`` or ``path#name``."""
    from mesa_memory.runs import open_run

    return open_run(given)


def cell(value: Any, width: int = CELL_CHARS) -> str:
    """Any value on one line of a table; a number without needless digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return one_line(shorten(str(value), width))


def named(values: Mapping[str, Any]) -> str:
    """Parameters and their values on one line."""
    return ", ".join(f"{name}={cell(value)}" for name, value in values.items())


def say(text: str) -> None:
    """One line on stderr, at once."""
    click.echo(text, err=True)


def say_loading() -> None:
    """Says that packages are loaded, unless they are loaded already."""
    if "mesa_llm" not in sys.modules:
        say("Loading Mesa and Mesa-LLM ...")


def importable(folder: Path) -> None:
    """Lets modules of a folder be imported, as ``python -m`` does in the current one."""
    place = str(folder.absolute())
    if place not in sys.path:
        sys.path.insert(0, place)


#: types of options
COUNT = click.IntRange(min=1)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)


def option(
    name: str, help: str, default: Any = None, type: Any = None, **more: Any
) -> Callable[..., Any]:
    """An option of a command; its default is shown with its help."""
    if default is not None:
        more = {"default": default, "show_default": True} | more
    return click.option(*name.split(), help=help, type=type, **more)


def flag(name: str, help: str) -> Callable[..., Any]:
    """An option without a value."""
    return click.option(*name.split(), is_flag=True, help=help)


llm = option(
    "--llm",
    "The language model of the agents; offline needs neither key nor network.",
    "offline",
    metavar="offline|PROVIDER/MODEL",
)
api_base = option(
    "--api-base", "Address of the provider, for own servers.", metavar="URL"
)
agents = option("--agents", "People in the town.", 30, click.IntRange(min=3))
_host = option(
    "--host",
    "Address to listen at. Any other than the default lets other machines connect.",
    "127.0.0.1",
)
port = option(
    "--port", "Port to listen at; 0 takes a free one.", 8765, click.IntRange(0, 65535)
)
_open = option(
    "--open/--no-open open_page", "Open the browser.", True, show_default=False
)

page_out = option("--out -o", "The file to write.", "report.html", NEW_FILE)
overwrite = flag("--overwrite", "Replace a file that exists.")


def steps(default: int, what: str = "Steps of each run.") -> Callable[..., Any]:
    """The number of steps."""
    return option("--steps", what, default, COUNT)


def names(context: Any, parameter: Any, given: str | None) -> list[str] | None:
    """Names with commas between them, as a list."""
    return [name.strip() for name in given.split(",")] if given else None


def processes(what: str) -> Callable[..., Any]:
    """The number of runs at once, as the executor of a study; one is this process."""

    def executor(context: Any, parameter: Any, number: int | None) -> Any:
        return "serial" if number == 1 else number

    return option("--processes executor", what, type=COUNT, callback=executor)


def served(command: Callable[..., Any]) -> Callable[..., Any]:
    """The address of a page: ``host``, ``port`` and ``open_page``."""
    return _host(port(_open(command)))


#: rows of a table without ``--limit``
DEFAULT_ROWS = 200
#: below this width, a table that does not fit is printed as blocks of "heading: value"
NARROW_CHARS = 100
#: width of a table in a file or a pipe, which have none
PIPED_CHARS = 160
#: headings of columns; all others are the column's name
HEADINGS = {
    "prompt_tokens": "tokens in", "completion_tokens": "tokens out", "tokens_in": "tokens in",
    "tokens_out": "tokens out", "tokens_cached": "of them cached",
    "cached_calls": "from the cache", "failures": "failed", "latency": "seconds",
    "cost": "US dollars", "stays": "made from it, stays", "alone": "kept alone",
    "p_holm": "p (Holm)", "alone_p_holm": "its p (Holm)",
}  # fmt: skip


def printed(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that prints tables; it gets an ``output``."""

    @wraps(command)
    def printing(as_json: bool, limit: int | None, **given: Any) -> None:
        output = Output(as_json, limit)
        command(output=output, **given)
        output.end()

    limit = option(
        "--limit",
        f"Most rows of each table; 0 prints all.  [default: {DEFAULT_ROWS}; with --json all]",
        type=click.IntRange(min=0),
        metavar="ROWS",
    )
    as_json = flag("--json as_json", "Print one JSON object, for programs.")
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
        piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
        width = PIPED_CHARS if piped else None
        console = Console(markup=False, emoji=False, highlight=False, width=width)
        width, wide = console.width, Console(width=10_000)
        if width >= NARROW_CHARS or wide.measure(table).maximum <= width:
            with console.capture() as told:  # rich ends the program at a closed pipe
                console.print(table)
            print(told.get(), end="")
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


def rows_of(frame: Any) -> list[Any]:
    """The rows of a DataFrame as dicts; missing values are None."""
    known = frame.rename(columns=str).astype(object)
    return list(known.where(known.notna(), None).to_dict("records"))


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
