"""Who talks to a page: the browser's window of the page itself, or another page."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from mesa_memory.hosts.solara import request_headers

FOREIGN = (
    "This session was opened by another page, or by a program, and not by the page "
    "itself, so it is shown nothing. Open the address of the page in a browser. A proxy "
    "between the two has to pass the Host header on, or set X-Forwarded-Host."
)
#: who may show the page in a frame: the page itself
FRAMES = (b"content-security-policy", b"frame-ancestors 'self'")

type Message = MutableMapping[str, Any]
type Send = Callable[[Message], Awaitable[None]]
type Receive = Callable[[], Awaitable[Message]]


class OwnOrigin:
    """An application that answers nobody but pages of its own.

    A browser lets any page open a socket to this machine, and says which one it is. A
    socket needs the page's own origin; any other request may also be without one, as
    when somebody types the address.

    Args:
        app: what is asked then.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    def __call__(self, scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        """Asks the application, or refuses with status 403."""
        from starlette.responses import PlainTextResponse
        from starlette.websockets import WebSocketClose

        if scope["type"] not in ("http", "websocket"):
            return self.app(scope, receive, send)
        given = {
            key.decode("latin-1"): value.decode("latin-1")
            for key, value in scope["headers"]
        }
        socket = scope["type"] == "websocket"
        if own(given) or (not socket and "origin" not in given):
            return self.app(scope, receive, _unframed(send))
        refuse: Any = (
            WebSocketClose(1008) if socket else PlainTextResponse(FOREIGN, 403)
        )
        return refuse(scope, receive, send)


def own(headers: Mapping[str, str]) -> bool:
    """True if what asks for something is a page of the server that is asked.

    Args:
        headers: of the request, their names in small letters.
    """
    # No page can set these two for a socket; proxies set the second one.
    names = (headers.get("host"), headers.get("x-forwarded-host"))
    origins = {f"{way}://{name}" for name in names if name for way in ("http", "https")}
    return headers.get("origin") in origins


def opened_elsewhere() -> bool:
    """True if the session that is being drawn was opened by another page."""
    headers = request_headers()
    if headers is None:
        return False  # a notebook, which looks after its sockets itself
    return not own({key.lower(): values[-1] for key, values in headers.items()})


def _unframed(send: Send) -> Send:
    def sending(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), FRAMES]
        return send(message)

    return sending
