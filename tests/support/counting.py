"""Counts of the local server, and the real TCP connections to it."""

from dataclasses import dataclass
from typing import Any

from aiohttp import web

MAX_BODY = 64 * 2**20


@dataclass
class Counters:
    """Everything that starts again when the server is cleared."""

    requests: int = 0
    max_connections: int = 0
    total_connections: int = 0
    in_flight_max: int = 0
    prompt_chars: int = 0
    prompt_tokens: int = 0


class CountedServer(web.Server):
    """Tells its owner about each TCP connection, the idle ones included."""

    def __init__(self, owner: Any) -> None:
        # The bare server has no router or access log, so a request costs little;
        # cancellation frees the handler of a client that went away.
        super().__init__(
            owner._handle,
            request_factory=self._large_request,
            handler_cancellation=True,
            access_log=None,
        )
        self._owner = owner

    def _large_request(
        self, message, payload, protocol, writer, task
    ) -> web.BaseRequest:
        parts = (message, payload, protocol, writer, task, self._loop)
        return web.BaseRequest(*parts, client_max_size=MAX_BODY)

    def connection_made(self, handler, transport) -> None:
        super().connection_made(handler, transport)
        self._owner._opened(handler)

    def connection_lost(self, handler, exc=None) -> None:
        super().connection_lost(handler, exc)
        self._owner._peaks.pop(handler, None)
