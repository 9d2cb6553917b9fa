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
from http.client import HTTPConnection, HTTPException
from typing import Any

import solara

from mesa_memory.hosts.solara import application
from mesa_memory.viz.live.step_lock import stop_all
from mesa_memory.viz.serving.origin import PARAMETER, OwnNames, OwnOrigin, TokenRequired

#: names of this machine for itself
OWN = ("127.0.0.1", "localhost", "::1")
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
    app = TokenRequired(_app(), place.token, place.cookie)
    server = uvicorn.Server(
        uvicorn.Config(
            OwnNames(OwnOrigin(app), place.names),
            interface="asgi3",
            log_level="warning",
            timeout_graceful_shutdown=GOODBYE,
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
        names: host names that the pages are asked by; empty for all.
        token: a secret; only those who know it see the pages.
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
    return Place(listening, _names(host.lower()))


def _names(host: str) -> frozenset[str]:
    """The host names of a server that listens at an address; empty for all."""
    try:
        address = ipaddress.ip_address(host or "0.0.0.0")  # noqa: S104 - not listened at
    except ValueError:
        return frozenset({host, *OWN} if host in OWN else {host})
    if address.is_unspecified:
        return frozenset()  # such a server is reached by names that are not known here
    names = {host, str(address)}
    return frozenset({*names, *OWN} if address.is_loopback else names)


def _app() -> Any:
    own = "SOLARA_KERNEL_CULL_TIMEOUT" in os.environ
    return application(f"{__name__}:Page", None if own else ABANDONED)


def _announce(server: Any, place: Place, open_page: bool) -> None:
    """Prints the address of the page as soon as the page is there."""
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.05)
    _warm_up(place)
    print(f"Open {place.address} in a browser; Ctrl+C ends.", flush=True)
    if open_page:
        webbrowser.open(place.address)


def _warm_up(place: Place) -> None:
    """Asks for the page once, which loads all that is needed on first use."""
    connection = HTTPConnection(place.host_and_port, timeout=WARM_UP_S)
    with suppress(OSError, HTTPException):  # the browser will show it
        cookie = {"Cookie": f"{place.cookie}={place.token}"}
        connection.request("GET", "/", headers=cookie)
        connection.getresponse().read()
    connection.close()
