"""Shared by all commands: errors in one line, values as text, the run to read."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Ends the command in one line and exit code 2 after a user's mistake."""
    try:
        yield
    except BrokenPipeError:
        # Whoever read the output has seen enough, such as `head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None
    except (ValueError, OSError, MesaMemoryError) as error:
        raise _Ended(one_line(scrub(str(error))), MISTAKEN) from cause(error)
    except KeyboardInterrupt as stop:
        text = "interrupted; the finished steps of recorded runs are kept"
        raise _Ended(text, INTERRUPTED) from stop


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
        with one_line_errors():
            return super().invoke(ctx)


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
