"""The server of a page, on this machine."""

import os
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

import solara

from mesa_memory.hosts.solara import application
from mesa_memory.viz.origin import OwnOrigin
from mesa_memory.viz.step_lock import stop_all

#: names of this machine for itself
OWN = ("127.0.0.1", "localhost")
#: seconds that open pages have to say goodbye
GOODBYE = 1
#: seconds for the first answer, before the address is told
WARM_UP_S = 5
#: how long a session waits for its page to come back; Solara's own setting overrides it
ABANDONED = "1m"
#: what this server shows; every session renders it for itself
_shown: list[Callable[[], Any]] = []


@solara.component
def Page() -> Any:
    """What is served."""
    _shown[-1]()


def serve(page: Callable[[], Any], place: "Place", open_page: bool = True) -> None:
    """Serves a page until it is interrupted (Ctrl+C, SIGTERM), then comes back.

    Models that play in a window end their step, and play no more.

    Args:
        page: a component without arguments.
        place: from ``listen``.
        open_page: open it in a browser.
    """
    import uvicorn

    _shown[:] = [page]
    if threading.current_thread() is threading.main_thread():
        # So it ends like an interrupt: what is being recorded is finished.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    app = OwnOrigin(_app())
    server = uvicorn.Server(
        uvicorn.Config(
            _for_this_machine(app) if place.private else app,
            interface="asgi3",
            log_level="warning",
            timeout_graceful_shutdown=GOODBYE,
        )
    )
    waiting = (server, place.address, open_page)
    threading.Thread(target=_announce, args=waiting, daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):  # this is how one ends it
            server.run(sockets=[place.listening])
    finally:
        stop_all()


@dataclass(frozen=True)
class Place:
    """Where pages can be asked for.

    Attributes:
        listening: the socket.
        private: only this machine can connect.
    """

    listening: socket.socket
    private: bool

    @property
    def address(self) -> str:
        """As one types it into a browser."""
        host, port = self.listening.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listen(host: str = "127.0.0.1", port: int = 8765) -> Place:
    """Takes a place for ``serve``.

    Args:
        host: address to listen at; by default only this machine can connect.
        port: 0 takes a free one.

    Raises:
        OSError: if there is no such address, or somebody listens there already.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(
            f"cannot listen at port {port} of {host} ({error.strerror or error}). "
            "Choose another port, or 0 for a free one."
        ) from error
    return Place(listening, private=host in OWN)


def _app() -> Any:
    own = "SOLARA_KERNEL_CULL_TIMEOUT" in os.environ
    return application(f"{__name__}:Page", None if own else ABANDONED)


def _for_this_machine(app: Any) -> Any:
    """Refuses pages of others whose names were made to point here (DNS rebinding)."""
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    return TrustedHostMiddleware(app, allowed_hosts=list(OWN), www_redirect=False)


def _announce(server: Any, address: str, open_page: bool) -> None:
    """Says where the page is as soon as it is there."""
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.05)
    _warm_up(address)
    print(f"Open {address} in a browser; Ctrl+C ends.", flush=True)
    if open_page:
        webbrowser.open(address)


def _warm_up(address: str) -> None:
    """Asks for the page once, so that nobody waits for what is loaded on first use."""
    connection = HTTPConnection(address.removeprefix("http://"), timeout=WARM_UP_S)
    with suppress(OSError, HTTPException):  # whoever opens the page will see
        connection.request("GET", "/")
        connection.getresponse().read()
    connection.close()
