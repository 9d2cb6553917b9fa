"""Progress of a command on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


def say(text: str) -> None:
    """One line on stderr, at once."""
    click.echo(text, err=True)


def say_loading() -> None:
    """Says that packages are loaded, unless they are loaded already."""
    if "mesa_llm" not in sys.modules:
        say("Loading Mesa and Mesa-LLM ...")


@contextmanager
def counted_to(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives a function of (done, of how many) that draws a bar on a terminal."""
    from tqdm.auto import tqdm

    with tqdm(desc=what, file=sys.stderr, leave=False, disable=None) as bar:

        def show(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        yield show
