"""The page of recorded runs, and its server."""

import threading
import time
import warnings
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import solara
import solara.lab

from mesa_memory.errors import MesaMemoryError
from mesa_memory.runs import Run, open_run
from mesa_memory.viz.address import use_selection
from mesa_memory.viz.dashboard import Dashboard
from mesa_memory.viz.data import population
from mesa_memory.viz.feed import Feed
from mesa_memory.viz.views import VIEWS

#: names of this machine for itself
OWN = ("127.0.0.1", "localhost")
#: what this server shows; every session reads the same, and selects for itself
_feeds: list[Feed] = []


@solara.component
def Page() -> Any:
    """All runs of this server."""
    with solara.AppBar():
        solara.AppBarTitle("mesa-memory")
        solara.lab.ThemeToggle()
    solara.Title("mesa-memory")
    Dashboard(list(_feeds), use_selection(), VIEWS)


def open_feeds(runs: Sequence[tuple[str, int | str | None]]) -> list[Feed]:
    """Opens recorded runs.

    Args:
        runs: store, and number or name of the run; None is the newest.

    Raises:
        StoreError, ValueError: if one cannot be read; none stays open then.
    """
    found: list[Feed] = []
    try:
        for store, which in runs:
            found.append(_feed(open_run(store, which)))
    except (MesaMemoryError, ValueError):
        for feed in found:
            feed.close()
        raise
    for feed in found:
        feed.all = found
    return found


def _feed(run: Run) -> Feed:
    name = run.name or run.model.rpartition(".")[2]
    notes = []
    if run.status in ("failed", "stopped"):
        notes.append(f"This run {run.status}; shown is what was recorded until then.")
    try:
        return Feed(run, f"{run.id}: {name}, seed {run.seed}", notes)
    except BaseException:
        run.close()
        raise


def serve(
    feeds: Sequence[Feed],
    host: str = "127.0.0.1",
    port: int = 8765,
    open_page: bool = True,
) -> None:
    """Serves the page until it is interrupted.

    Args:
        feeds: from ``open_feeds``.
        host: address to listen at; by default only this machine can connect.
        port: 0 takes a free one.
        open_page: open it in a browser.
    """
    import uvicorn
    from solara.server import settings

    # Solara warns that its cookie is for this site alone, which is as it should be.
    warnings.filterwarnings("ignore", message="Cookies with samesite=none")
    settings.main.mode = "production"
    settings.telemetry.mixpanel_enable = False
    settings.theme.show_banner = False
    import solara.server.starlette as pages
    from solara.server.app import AppScript, apps

    _feeds[:] = feeds
    apps["__default__"] = AppScript(f"{__name__}:Page")
    app = _for_this_machine(pages.app) if host in OWN else pages.app
    config = uvicorn.Config(app, host=host, port=port, log_level="warning")
    server = uvicorn.Server(config)
    waiting = threading.Thread(target=_announce, args=(server, open_page), daemon=True)
    waiting.start()
    for feed in feeds:
        threading.Thread(target=_count, args=(feed,), daemon=True).start()
    server.run()


def _count(feed: Feed) -> None:
    """Begins with what the first page needs and takes seconds for a long run."""
    source = feed.source
    with suppress(MesaMemoryError):  # the page itself will meet it, and say so
        source.activity()
        source.of(population.occupancy)


def _for_this_machine(app: Any) -> Any:
    """Refuses pages of others whose names were made to point here (DNS rebinding)."""
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    return TrustedHostMiddleware(app, allowed_hosts=list(OWN), www_redirect=False)


def _announce(server: Any, open_page: bool) -> None:
    """Says where the page is as soon as it is there."""
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.05)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    print(f"Open {address} in a browser; Ctrl+C ends.", flush=True)
    if open_page:
        webbrowser.open(address)
