"""A local server that speaks the OpenAI chat-completions protocol.

Tests and benchmarks point a client at it instead of at a paid service. It counts
real TCP connections, keeps what it was sent and misbehaves on demand (see
``behaviours``). ``python -m tests.support.openai_server --latency 0.05`` runs it as a
process.
"""

import argparse
import asyncio
import json
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

from aiohttp import web

from tests.support.behaviours import (
    NORMAL,
    Behave,
    Behaviour,
    Received,
    always,
    completion,
    default_answer,
    sequence,
    text_of,
)
from tests.support.prefix_cache import PrefixCache
from tests.support.waiting import HUNG

__all__ = [
    "Behave",
    "Behaviour",
    "OpenAIServer",
    "Received",
    "always",
    "completion",
    "default_answer",
    "main",
    "sequence",
    "text_of",
]

MAX_BODY = 64 * 2**20
CHAT_PATHS = ("/v1/chat/completions", "/chat/completions")


def to_response(reply: Behaviour) -> web.Response:
    """Turns a fixed reply into an HTTP response."""
    headers = dict(reply.headers) | {"Content-Type": reply.content_type}
    return web.Response(body=reply.body, status=reply.code, headers=headers)


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
        self._owner._connections.discard(handler)


class OpenAIServer:
    """The server, in a thread with an event loop of its own."""

    def __init__(
        self,
        answer: Callable[[Received], str] = default_answer,
        latency: float = 0.0,
        behave: Behave | None = None,
        keep_log: bool = True,
        together: int = 1,
        caches: bool = False,
    ) -> None:
        """Prepares a server that ``with`` starts and stops.

        Args:
            answer: Makes the content of a normal reply.
            latency: Seconds that pass before every reply.
            behave: Makes a request go wrong; None or a None result is normal.
            keep_log: Whether to keep each request, or only to count them.
            together: No request is answered until so many were here at once.
            caches: Whether replies say how much of a prompt began as an earlier one.
        """
        self._cache = PrefixCache() if caches else None
        self.together = together
        self.answer, self.latency, self.behave = answer, latency, behave
        self.log: list[Received] = []
        self._keep_log = keep_log
        #: true for requests whose replies are held back, until it is another one
        self.holds: Callable[[Received], bool] = lambda received: False
        self._counters = Counters()
        self._in_flight = 0
        self._connections: set[Any] = set()
        self._started: Future = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "OpenAIServer":
        """Starts serving; the kernel chooses the port."""
        self._thread.start()
        self.base, self._stop = self._started.result(timeout=HUNG)
        return self

    def __exit__(self, *_: object) -> None:
        """Stops at once, whatever requests are still open."""
        self._stop()
        self._thread.join(timeout=HUNG)

    @property
    def in_flight(self) -> int:
        """Chat requests that are not answered yet."""
        return self._in_flight

    @property
    def open_connections(self) -> int:
        """TCP connections open now."""
        return len(self._connections)

    def __getattr__(self, name: str) -> int:
        """Reads a counter, such as ``max_connections`` or ``in_flight_max``."""
        if name in Counters.__dataclass_fields__:
            return getattr(self._counters, name)
        raise AttributeError(name)

    def clear(self) -> None:
        """Empties the log and counters; connections that are open stay so."""
        self.log.clear()
        # A fresh object, not zeros, so that this is safe from another thread.
        self._counters = Counters(
            max_connections=self.open_connections, in_flight_max=self._in_flight
        )

    def stats(self) -> dict[str, int]:
        """Returns all counts."""
        counted = asdict(self._counters)
        return counted | {"open_connections": self.open_connections}

    def _opened(self, connection: Any) -> None:
        self._connections.add(connection)
        counters = self._counters
        counters.total_connections += 1
        counters.max_connections = max(counters.max_connections, self.open_connections)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._all_here = asyncio.Event()
        server = CountedServer(self)
        listener = await loop.create_server(server, "127.0.0.1", 0, backlog=1024)
        base = "http://127.0.0.1:{1}/v1".format(*listener.sockets[0].getsockname())
        self._started.set_result((base, lambda: loop.call_soon_threadsafe(stop.set)))
        await stop.wait()
        listener.close()
        # Not zero, which would mean to wait for silent requests to finish.
        await server.shutdown(timeout=0.05)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path not in CHAT_PATHS or request.method != "POST":
            return to_response(Behaviour.status(404, f"No {request.path} here"))
        self._in_flight += 1
        counters = self._counters
        counters.in_flight_max = max(counters.in_flight_max, self._in_flight)
        try:
            return await self._chat(request)
        finally:
            self._in_flight -= 1

    async def _chat(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            body = json.loads(await request.read())
        except ValueError:
            return to_response(Behaviour.status(400, "The body is not JSON"))
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(self._counters.requests, body, headers)
        self._count(received)
        if self._in_flight >= self.together:
            self._all_here.set()
        await self._all_here.wait()
        while self.holds(received):
            await asyncio.sleep(0.01)
        behaviour = (self.behave and self.behave(received)) or NORMAL
        if behaviour.kind == "trickle":
            return await self._trickle(request, received, behaviour)
        if delay := self.latency + behaviour.seconds:
            await asyncio.sleep(delay)
        if behaviour.kind in ("drop_before", "drop_inside"):
            return await self._drop(request, behaviour)
        return to_response(self._reply(received, behaviour))

    def _count(self, received: Received) -> None:
        self._counters.requests += 1
        self._counters.prompt_chars += received.chars
        self._counters.prompt_tokens += received.chars // 4
        if self._keep_log:
            self.log.append(received)

    def _reply(self, received: Received, behaviour: Behaviour) -> Behaviour:
        if behaviour.kind == "reply":
            return behaviour
        if behaviour.kind == "text":
            content, reason = behaviour.content, behaviour.finish_reason
            return Behaviour.raw(self._completion(received, content, reason))
        if received.body.get("stream"):
            return Behaviour.status(400, "Streaming is not supported")
        return Behaviour.raw(self._completion(received, self.answer(received)))

    def _completion(
        self, received: Received, content: str | None, reason: str = "stop"
    ) -> bytes:
        cached = None if self._cache is None else self._cache.read(received.body)
        return completion(received, content, reason, cached)

    async def _trickle(
        self, request: web.BaseRequest, received: Received, behaviour: Behaviour
    ) -> web.StreamResponse:
        headers = {"Content-Type": "application/json", **dict(behaviour.headers)}
        response = web.StreamResponse(status=behaviour.code, headers=headers)
        await response.prepare(request)
        for byte in self._reply(received, NORMAL).body:
            await asyncio.sleep(behaviour.seconds)
            await response.write(bytes([byte]))
        return response

    async def _drop(
        self, request: web.BaseRequest, behaviour: Behaviour
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if behaviour.kind == "drop_inside":
            response.content_length = 1000
            await response.prepare(request)
            await response.write(b'{"id": "chatcmpl-')
        # What was written is still sent; the response itself then goes nowhere.
        request.protocol.force_close()
        return response


def main() -> None:
    """Serves until standard input closes; a line of it is answered with the counts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--latency", type=float, default=0.0)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with OpenAIServer(latency=options.latency, keep_log=False) as server:
        print(server.base, flush=True)
        for line in sys.stdin:
            if line.strip() == "clear":
                server.clear()
            print(json.dumps(server.stats()), flush=True)


if __name__ == "__main__":
    main()
