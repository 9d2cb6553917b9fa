"""Progress of a command on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

#: lines of progress where stderr is not a terminal
PROGRESS_LINES = 10
#: seconds of work without a line
SILENT_S = 1.0


def say(text: str) -> None:
    """One line on stderr, at once."""
    click.echo(text, err=True)


def say_loading() -> None:
    """Says that packages are loaded, unless they are loaded already."""
    if "mesa_llm" not in sys.modules:
        say("Loading Mesa and Mesa-LLM ...")


@contextmanager
def counted_to(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives a function of (done, of how many) that draws a bar, or prints lines."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if console.is_terminal:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)
        return
    told, began = 0, time.monotonic()

    def line(done: int, of: int) -> None:
        nonlocal told
        tenth = PROGRESS_LINES * done // max(of, 1)
        if tenth > told and (done >= of or time.monotonic() - began > SILENT_S):
            told = tenth
            say(f"{what}: {100 * done // of}%")

    yield line
