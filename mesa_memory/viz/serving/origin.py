"""Refuses requests of other pages, by other host names, and without the page's token."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from mesa_memory.hosts.solara import request_headers

FOREIGN = (
    "This session was opened by another page, or by a program, and not by the page "
    "itself, so it is shown nothing. Open the address of the page in a browser. A proxy "
    "between the two has to pass the Host header on, or set X-Forwarded-Host."
)
UNKNOWN_HOST = (
    "This server is not asked by this name. Open the address that it printed."
)
NOT_ADMITTED = (
    "This page needs the token of its address. Open the whole address that the server "
    "printed, with ?token=…"
)
PARAMETER = "token"
#: the page itself may show the page in a frame
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
        if scope["type"] not in ("http", "websocket"):
            return self.app(scope, receive, send)
        given = _headers(scope)
        socket = scope["type"] == "websocket"
        if own(given) or (not socket and "origin" not in given):
            return self.app(scope, receive, _unframed(send))
        return _refusal(scope, FOREIGN)(scope, receive, send)


class OwnNames:
    """An application that is asked by known host names only (DNS rebinding).

    Args:
        app: asked then.
        names: of the host, in small letters; an empty set allows every name.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], names: frozenset[str]):
        self.app, self.names = app, names

    def __call__(self, scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        """Asks the application, or refuses with status 400."""
        if not self.names or scope["type"] not in ("http", "websocket"):
            return self.app(scope, receive, send)
        if _host_name(_headers(scope).get("host", "")) in self.names:
            return self.app(scope, receive, send)
        return _refusal(scope, UNKNOWN_HOST, 400)(scope, receive, send)


class TokenRequired:
    """An application for those who know its token, from its address or a cookie.

    An address with the token sets the cookie, and leads to the same page without it.

    Args:
        app: asked then.
        token: a secret.
        cookie: its name; cookies of one host are shared by all ports.
    """

    def __init__(
        self, app: Callable[..., Awaitable[None]], token: str, cookie: str
    ) -> None:
        self.app, self.token, self.cookie = app, token, cookie

    def __call__(self, scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        """Asks the application, leads to it, or refuses with status 403."""
        from starlette.requests import cookie_parser

        if scope["type"] not in ("http", "websocket"):
            return self.app(scope, receive, send)
        query = parse_qsl(scope["query_string"].decode("latin-1"), True)
        given = [value for name, value in query if name == PARAMETER]
        if scope["type"] == "http" and any(map(self._fits, given)):
            return self._admit(scope, query)(scope, receive, send)
        cookies = cookie_parser(_headers(scope).get("cookie", ""))
        if self._fits(cookies.get(self.cookie, "")):
            return self.app(scope, receive, send)
        return _refusal(scope, NOT_ADMITTED)(scope, receive, send)

    def _fits(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _admit(self, scope: Message, query: list[tuple[str, str]]) -> Any:
        from starlette.responses import RedirectResponse

        rest = urlencode([(name, value) for name, value in query if name != PARAMETER])
        page = f"./{scope['path'].rpartition('/')[2]}"  # also behind a proxy's prefix
        answer = RedirectResponse(f"{page}?{rest}" if rest else page, 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="lax")
        return answer


def own(headers: Mapping[str, str]) -> bool:
    """True if what asks for something is a page of the server that is asked.

    Args:
        headers: of the request, their names in small letters.
    """
    # No page can set these two for a socket; proxies set the second one.
    names = (headers.get("host"), headers.get("x-forwarded-host"))
    origins = {f"{way}://{name}" for name in names if name for way in ("http", "https")}
    return headers.get("origin") in origins


def _headers(scope: Message) -> dict[str, str]:
    return {
        key.decode("latin-1"): value.decode("latin-1")
        for key, value in scope["headers"]
    }


def _host_name(host: str) -> str | None:
    """The name in a Host header, without its port; None if it is not valid."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _refusal(scope: Message, told: str, status: int = 403) -> Any:
    from starlette.responses import PlainTextResponse
    from starlette.websockets import WebSocketClose

    if scope["type"] == "websocket":
        return WebSocketClose(1008)
    return PlainTextResponse(told, status)


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
