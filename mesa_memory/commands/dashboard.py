"""``mesa-memory dashboard``: recorded runs in the browser."""

from pathlib import Path

import click

from mesa_memory.commands.console import one_line_errors


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN2 ...]")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at. Others than the default let other machines connect.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port to listen at; 0 takes a free one.",
)
@click.option("--open/--no-open", "open_page", default=True, help="Open the browser.")
def dashboard(runs: tuple[str, ...], host: str, port: int, open_page: bool) -> None:
    """Shows recorded runs in the browser, also while they are being written.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with one_line_errors(2):
        from mesa_memory.viz import explorer

        feeds = explorer.open_feeds([_named(run) for run in runs])
        try:
            explorer.serve(feeds, host, port, open_page)
        finally:
            for feed in feeds:
                feed.close()


def _named(given: str) -> tuple[str, str | None]:
    store, mark, number = given.rpartition("#")
    if not mark or not number or Path(given).exists():
        return given, None
    return store, number
