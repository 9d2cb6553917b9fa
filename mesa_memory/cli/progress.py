"""What a command says on stderr while it works, so that nobody waits before silence."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

import click

#: lines that a whole piece of work prints where there is no terminal
LINES = 10
#: seconds of work of which nothing is said where there is no terminal
SILENT_S = 1.0


def say(text: str) -> None:
    """One line on stderr, at once."""
    click.echo(text, err=True)


def say_loading() -> None:
    """Says why nothing happens for some seconds, if that is so."""
    if "mesa_llm" not in sys.modules:
        say("Loading Mesa and Mesa-LLM ...")


@contextmanager
def told_if_slow(what: str) -> Iterator[None]:
    """Says what is being done if it takes longer than a second."""
    timer = Timer(SILENT_S, say, (f"{what} ...",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def counted(count: int, what: str) -> Iterator[int]:
    """The numbers from 0 below ``count``, with a bar, or lines where no terminal is."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if console.is_terminal:
        yield from track(range(count), what, console=console, transient=True)
        return
    each = -(-count // LINES)
    for number in range(count):
        yield number
        if (number + 1) % each == 0 or number + 1 == count:
            say(f"{what}: {number + 1} of {count}")


@contextmanager
def counted_to(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives a function of (done, of how many), shown as a bar, or as lines."""
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
        tenth = LINES * done // max(of, 1)
        if tenth > told and (done >= of or time.monotonic() - began > SILENT_S):
            told = tenth
            say(f"{what}: {100 * done // of}%")

    yield line
