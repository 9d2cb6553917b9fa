"""The server of a page, on this machine."""

import ipaddress
import os
import secrets
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import distributions
from typing import Any

import solara

from mesa_memory.hosts.solara import application
from mesa_memory.viz.live.step_lock import stop_all
from mesa_memory.viz.serving.origin import PARAMETER, PageGuard

#: names of this machine for itself
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
#: seconds until open pages are disconnected at the end
SHUTDOWN_S = 5
#: time that a session waits for its page to come back; Solara's setting overrides it
SESSION_TIMEOUT = "1m"
#: the page of this server; every session renders it for itself
_shown: list[Callable[[], Any]] = []


@solara.component
def Page() -> Any:
    """The page of this server."""
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
    server = uvicorn.Server(
        uvicorn.Config(
            PageGuard(_app(), place.names, place.token, place.cookie),
            interface="asgi3",
            log_level="warning",
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
    )
    waiting = (server, place, open_page)
    threading.Thread(target=_announce, args=waiting, daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):  # this is how one ends it
            server.run(sockets=[place.listening])
    finally:
        stop_all()


@dataclass(frozen=True)
class Place:
    """The address of pages.

    Attributes:
        listening: the socket.
        names: host names of requests; empty for all.
        token: a secret that a request must know.
    """

    listening: socket.socket
    names: frozenset[str]
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def host_and_port(self) -> str:
        """As in an address."""
        host, port = self.listening.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def cookie(self) -> str:
        """The name of the cookie that has the token."""
        return f"mesa-memory-{self.listening.getsockname()[1]}"

    @property
    def address(self) -> str:
        """As one types it into a browser, with the token."""
        return f"http://{self.host_and_port}/?{PARAMETER}={self.token}"


def listen(host: str = "127.0.0.1", port: int = 8765) -> Place:
    """Takes a place for ``serve``.

    Args:
        host: address to listen at; by default only this machine can connect.
        port: 0 takes a free one.

    Raises:
        OSError: for an unknown address, or one that is in use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(
            f"cannot listen at port {port} of {host} ({error.strerror or error}). "
            "Choose another port, or 0 for a free one."
        ) from error
    return Place(listening, _names(host.lower()))


def _names(host: str) -> frozenset[str]:
    """The host names of a server that listens at an address; empty for all."""
    try:
        address = ipaddress.ip_address(host or "0.0.0.0")  # noqa: S104 - not listened at
    except ValueError:
        return frozenset({host, *LOOPBACK_NAMES} if host in LOOPBACK_NAMES else {host})
    if address.is_unspecified:
        return frozenset()  # such a server is reached by names that are not known here
    names = {host, str(address)}
    return frozenset({*names, *LOOPBACK_NAMES} if address.is_loopback else names)


def _app() -> Any:
    own = "SOLARA_KERNEL_CULL_TIMEOUT" in os.environ
    return application(f"{__name__}:Page", None if own else SESSION_TIMEOUT)


def _announce(server: Any, place: Place, open_page: bool) -> None:
    """Prints the address of the page as soon as the page is there."""
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.05)
    print(f"Open {place.address} in a browser; Ctrl+C ends.", flush=True)
    if not list(distributions(name="solara-assets")):
        print(
            "Solara downloads the page's front end once. If it cannot, the page stays "
            'white: pip install "mesa-memory[dashboard]"',
            flush=True,
        )
    if open_page:
        webbrowser.open(place.address)
