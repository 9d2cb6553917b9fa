"""``mesa-memory dashboard``: recorded runs in the browser."""

import click

import mesa_memory.cli.options as options


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN2 ...]")
@options.served
def dashboard(runs: tuple[str, ...], host: str, port: int, open_page: bool) -> None:
    """Shows recorded runs in the browser, also while they are being written.

    RUN is the path or address of a store; #3 after it is its third run.
    """
    from mesa_memory.stores.open import split_run
    from mesa_memory.viz import explorer
    from mesa_memory.viz.serving import server

    feeds = explorer.open_feeds([split_run(run) for run in runs])
    try:
        explorer.serve(feeds, server.listen(host, port), open_page)
    finally:
        for feed in feeds:
            feed.close()
