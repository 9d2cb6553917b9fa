"""Refuses requests of other pages, by other host names, and without the page's token."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlencode, urlsplit

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

type Scope = MutableMapping[str, Any]
type Send = Callable[[Scope], Awaitable[None]]
type Receive = Callable[[], Awaitable[Scope]]


class PageGuard:
    """An application for people who know its token, asked by its own pages and names.

    A browser lets any page open a socket to this machine, and names that page as the
    origin. A socket needs the page's own origin; another request may come without one,
    as when a person types the address. The host name is checked against DNS rebinding.
    An address with the token sets the cookie, and leads to the same page without it.

    Args:
        app: the guarded application.
        names: host names in lower case; an empty set allows every name.
        token: a secret.
        cookie: name of its cookie; cookies of a host are shared by all ports.
    """

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        names: frozenset[str],
        token: str,
        cookie: str,
    ) -> None:
        self.app, self.names, self.token, self.cookie = app, names, token, cookie

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Asks the application, sets the cookie, or refuses with status 400 or 403."""
        if scope["type"] not in ("http", "websocket"):
            return self.app(scope, receive, send)
        from starlette.requests import HTTPConnection

        answer = self._answer(HTTPConnection(scope)) or self.app
        return answer(scope, receive, _unframed(send))

    def _answer(self, asked: Any) -> Any:
        """A refusal, or a redirection with the cookie; None lets the request in."""
        socket = asked.scope["type"] == "websocket"
        headers, query = asked.headers, asked.query_params
        if self.names and _host_name(headers.get("host", "")) not in self.names:
            return _refusal(socket, UNKNOWN_HOST, 400)
        if not own(headers) and (socket or "origin" in headers):
            return _refusal(socket, FOREIGN)
        if not socket and any(map(self._fits, query.getlist(PARAMETER))):
            return self._admit(asked.scope["path"], query.multi_items())
        if self._fits(asked.cookies.get(self.cookie, "")):
            return None
        return _refusal(socket, NOT_ADMITTED)

    def _fits(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _admit(self, path: str, query: list[tuple[str, str]]) -> Any:
        from starlette.responses import RedirectResponse

        rest = urlencode([(name, value) for name, value in query if name != PARAMETER])
        page = f"./{path.rpartition('/')[2]}"  # also behind a proxy's prefix
        answer = RedirectResponse(f"{page}?{rest}" if rest else page, 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="lax")
        return answer


def own(headers: Mapping[str, str]) -> bool:
    """True if a request comes from a page of the server itself.

    Args:
        headers: of the request, their names in lower case.
    """
    # No page can set these two for a socket; proxies set the second one.
    names = (headers.get("host"), headers.get("x-forwarded-host"))
    origins = {f"{way}://{name}" for name in names if name for way in ("http", "https")}
    return headers.get("origin") in origins


def _host_name(host: str) -> str | None:
    """The name in a Host header, without its port; None if it is not valid."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _refusal(socket: bool, reason: str, status: int = 403) -> Any:
    from starlette.responses import PlainTextResponse
    from starlette.websockets import WebSocketClose

    return WebSocketClose(1008) if socket else PlainTextResponse(reason, status)


def opened_elsewhere() -> bool:
    """True if the session that is being drawn was opened by another page."""
    headers = request_headers()
    if headers is None:
        return False  # a notebook, which looks after its sockets itself
    return not own({key.lower(): values[-1] for key, values in headers.items()})


def _unframed(send: Send) -> Send:
    def sending(message: Scope) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), FRAMES]
        return send(message)

    return sending
