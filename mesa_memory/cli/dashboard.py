"""``mesa-memory dashboard``: recorded runs in the browser."""

import click

import mesa_memory.cli.options as options
from mesa_memory.cli.console import one_line_errors


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN2 ...]")
@click.option(
    "--judge",
    metavar="offline|PROVIDER/MODEL",
    help="A language model that can be asked, in the view Spread, which sentences state "
    "the same. It is asked when a button is pressed; offline is a rule of words.",
)
@options.api_base
@options.served
def dashboard(
    runs: tuple[str, ...],
    judge: str | None,
    api_base: str | None,
    host: str,
    port: int,
    open_page: bool,
) -> None:
    """Shows recorded runs in the browser, also while they are being written.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    with one_line_errors(2):
        from mesa_memory.stores.base import split_run
        from mesa_memory.viz import explorer
        from mesa_memory.viz.live.judge import named
        from mesa_memory.viz.serving import server

        if judge is None and api_base is not None:
            raise ValueError("--api-base is the address of a judge: add --judge MODEL")
        asked = None if judge is None else named(judge, api_base)
        feeds = explorer.open_feeds([split_run(run) for run in runs], asked)
        try:
            explorer.serve(feeds, server.listen(host, port), open_page)
        finally:
            for feed in feeds:
                feed.close()
