"""What all commands share: a plain console, errors in one line, which run is meant."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mesa_memory.cli.progress import told_if_slow
from mesa_memory.core.render import one_line, shorten
from mesa_memory.core.text.redaction import cause, scrub
from mesa_memory.errors import MesaMemoryError

if TYPE_CHECKING:
    from mesa_memory.runs import Run

#: exit code after Ctrl-C, as of a shell
INTERRUPTED = 130
#: characters of a text in a table
WIDTH = 300


def plain_console() -> Any:
    """A console that shows texts as they are, also where stdout is not UTF-8."""
    from rich.console import Console

    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:
        reconfigure(errors="replace")
    return Console(markup=False, emoji=False, highlight=False)


@contextmanager
def one_line_errors(code: int = 1) -> Iterator[None]:
    """What a user can put right ends in one line and this exit code."""
    try:
        yield
    except (ValueError, OSError, MesaMemoryError) as error:
        raise _Ended(one_line(scrub(str(error))), code) from cause(error)
    except KeyboardInterrupt as stop:
        text = "interrupted; the finished steps of recorded runs are kept"
        raise _Ended(text, INTERRUPTED) from stop


class _Ended(click.ClickException):
    """Ends the command with a line and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]  # click declares it for the class


def run_argument(name: str = "run", metavar: str = "RUN") -> Callable:
    """The argument that says which run: a path or address, and ``#`` its number."""
    return click.argument(name, metavar=metavar)


#: for stores with several runs
which_run = click.option(
    "--run",
    "which",
    metavar="NUMBER|NAME",
    help="Which run of the store; the same as #NUMBER after it.  [default: the newest]",
)


@contextmanager
def opened(given: str, which: str | None = None) -> Iterator["Run"]:
    """The run that is meant by ``path``, ``path#3`` or ``path#name``.

    Faults end in one line and exit code 2, as 1 is an answer of ``diff``.
    """
    with one_line_errors(2):
        from mesa_memory.runs import open_run
        from mesa_memory.stores.open import split_run

        store, number = split_run(given)
        if number and which is not None:
            raise ValueError(f"two runs are named, #{number} and --run {which}")
        meant = number if which is None else which
        with told_if_slow("Reading the run"), open_run(store, meant) as run:
            yield run


def cell(value: Any, width: int = WIDTH) -> str:
    """Any value on one line of a table; a number without needless digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return one_line(shorten(str(value), width))


def named(values: Mapping[str, Any]) -> str:
    """Parameters and their values on one line."""
    return ", ".join(f"{name}={cell(value)}" for name, value in values.items())
