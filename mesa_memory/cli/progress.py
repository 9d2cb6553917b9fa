"""What a command says on stderr while it works, so that nobody waits before silence."""

import sys
from collections.abc import Iterator

import click

#: lines that a whole piece of work prints where there is no terminal
LINES = 10


def say(text: str) -> None:
    """One line on stderr, at once."""
    click.echo(text, err=True)


def say_loading() -> None:
    """Says why nothing happens for some seconds, if that is so."""
    if "mesa_llm" not in sys.modules:
        say("Loading Mesa and Mesa-LLM ...")


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
