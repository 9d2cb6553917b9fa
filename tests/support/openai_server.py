"""A local server that speaks the OpenAI chat-completions protocol.

Tests and benchmarks point a client at it instead of at a paid service. It counts
real TCP connections, keeps what it was sent and misbehaves on demand.
``python -m tests.support.openai_server --latency 0.05`` runs it as a process.
"""

import argparse
import asyncio
import dataclasses
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

CHAT_PATHS = ("/v1/chat/completions", "/chat/completions")
MODULE = "tests.support.openai_server"
MAX_BODY = 64 * 2**20
ROOT = Path(__file__).resolve().parents[2]


def text_of(message: dict[str, Any]) -> str:
    """Returns the text of one message, whether a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content)


@dataclass
class Received:
    """One chat request; header names are in lower case."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    time: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Derives what tests ask for most from the body."""
        self.model: str = self.body.get("model", "")
        self.messages: list[dict[str, Any]] = self.body.get("messages") or []
        texts = [(message.get("role"), text_of(message)) for message in self.messages]
        self.system = "\n".join(t for r, t in texts if r in ("system", "developer"))
        self.prompt = "\n".join(t for r, t in texts if r == "user")
        self.chars = sum(len(t) for _, t in texts)


def default_answer(received: Received) -> str:
    """Returns a plausible reply for the kind of question that was asked."""
    asked = received.system + received.prompt
    if "grades" in asked:
        lines = re.findall(r"^\d+\. (.*)", received.prompt, re.MULTILINE)
        grades = [1 + zlib.crc32(line.encode("utf-8", "replace")) % 5 for line in lines]
        return json.dumps({"grades": grades})
    if "sentiment" in asked:
        reply = {"text": "Seems reliable.", "sentiment": 0.2, "familiarity": 0.4}
        return json.dumps(reply)
    if "summary" in asked:
        end = received.prompt[-160:].replace("\n", " ")
        return json.dumps({"summary": f"Summary of: {end}"})
    return "ok"


@dataclass(frozen=True)
class Behaviour:
    """What to do with a request instead of answering it at once."""

    kind: str
    seconds: float = 0.0
    code: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    content: str | None = None
    finish_reason: str = "stop"

    @classmethod
    def status(cls, code, message="...", retry_after=None, code_name=None):
        """Replies with an HTTP error in the shape OpenAI gives it."""
        kind = "requests" if code == 429 else "invalid_request_error"
        kind = "server_error" if code >= 500 else kind
        error = {"message": message, "type": kind, "code": code_name}
        body = json.dumps({"error": error}).encode()
        wait = () if retry_after is None else (("Retry-After", str(retry_after)),)
        return cls("reply", code=code, body=body, headers=wait)

    @classmethod
    def text(cls, content, finish_reason="stop"):
        """Replies with this content, None meaning null."""
        return cls("text", content=content, finish_reason=finish_reason)

    @classmethod
    def raw(cls, body: bytes, content_type="application/json"):
        """Replies 200 with exactly these bytes."""
        return cls("reply", body=body, content_type=content_type)

    @classmethod
    def drop_before(cls):
        """Closes the connection without sending a byte."""
        return cls("drop_before")

    @classmethod
    def drop_inside(cls):
        """Closes the connection in the middle of a 200 reply."""
        return cls("drop_inside")

    @classmethod
    def silent(cls, seconds=3600.0):
        """Says nothing for so long, then closes the connection."""
        return cls("drop_before", seconds=seconds)

    @classmethod
    def slow(cls, seconds: float):
        """Waits this long on top of the latency, then answers normally."""
        return cls("normal", seconds=seconds)


NORMAL = Behaviour("normal")
Behave = Callable[[Received], Behaviour | None]


def sequence(*behaviours: Behaviour | None) -> Behave:
    """Gives the n-th behaviour to the n-th request it sees, then normal ones."""
    left = iter(behaviours)
    return lambda received: next(left, None)


def always(behaviour: Behaviour | None) -> Behave:
    """Gives every request the same behaviour."""
    return lambda received: behaviour


def completion(received: Received, content: str | None, finish_reason="stop") -> bytes:
    """Returns the body of a normal reply."""
    tokens, reply_tokens = received.chars // 4, len(content or "") // 4
    usage = {"prompt_tokens": tokens, "completion_tokens": reply_tokens}
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return json.dumps(
        {
            "id": f"chatcmpl-{received.number}",
            "object": "chat.completion",
            "created": 0,
            "model": received.model,
            "choices": [choice],
            "usage": usage | {"total_tokens": tokens + reply_tokens},
        }
    ).encode()


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


class _CountedServer(web.Server):
    """Tells its owner about each TCP connection, the idle ones included."""

    def __init__(self, owner: "OpenAIServer") -> None:
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


class OpenAIServer:
    """The server, in a thread with an event loop of its own."""

    def __init__(
        self,
        answer: Callable[[Received], str] = default_answer,
        latency: float = 0.0,
        behave: Behave | None = None,
        keep_log: bool = True,
    ) -> None:
        """Prepares a server that ``with`` starts and stops.

        Args:
            answer: Makes the content of a normal reply.
            latency: Seconds that pass before every reply.
            behave: Makes a request go wrong; None or a None result is normal.
            keep_log: Whether to keep each request, or only to count them.
        """
        self.answer, self.latency, self.behave = answer, latency, behave
        self.log: list[Received] = []
        self._keep_log = keep_log
        self._counters = Counters()
        self._in_flight = 0
        # For each open connection, the highest count there was before it, or None
        # once it has carried a chat and can be no mere reader of the counts.
        self._peaks: dict[Any, int | None] = {}
        self._started: Future = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "OpenAIServer":
        """Starts serving; the kernel chooses the port."""
        self._thread.start()
        self.base, self._stop = self._started.result(timeout=10)
        return self

    def __exit__(self, *_: object) -> None:
        """Stops at once, whatever requests are still open."""
        self._stop()
        self._thread.join(timeout=10)

    @property
    def open_connections(self) -> int:
        """TCP connections open now."""
        return len(self._peaks)

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
        """Returns all counts, without connections that only asked for them."""
        counted = dataclasses.asdict(self._counters)
        return counted | {"open_connections": self.open_connections}

    def _opened(self, handler: Any) -> None:
        counters = self._counters
        self._peaks[handler] = counters.max_connections
        counters.total_connections += 1
        counters.max_connections = max(counters.max_connections, len(self._peaks))

    def _uncount(self, handler: Any) -> None:
        before = self._peaks.get(handler)
        if before is not None:
            del self._peaks[handler]
            counters = self._counters
            counters.total_connections -= 1
            # A maximum reached while this connection was open included it.
            highest = max(before, counters.max_connections - 1)
            counters.max_connections = min(counters.max_connections, highest)

    def _keep_counted(self, request: web.BaseRequest) -> None:
        if request.transport is not None:
            if request.protocol not in self._peaks:
                self._opened(request.protocol)
            self._peaks[request.protocol] = None

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        server = _CountedServer(self)
        listener = await loop.create_server(server, "127.0.0.1", 0, backlog=1024)
        base = "http://127.0.0.1:{1}/v1".format(*listener.sockets[0].getsockname())
        self._started.set_result((base, lambda: loop.call_soon_threadsafe(stop.set)))
        await stop.wait()
        listener.close()
        # Not zero, which would mean to wait for silent requests to finish.
        await server.shutdown(timeout=0.05)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path in CHAT_PATHS and request.method == "POST":
            self._keep_counted(request)
            self._in_flight += 1
            counters = self._counters
            counters.in_flight_max = max(counters.in_flight_max, self._in_flight)
            try:
                return await self._chat(request)
            finally:
                self._in_flight -= 1
        if request.path == "/_log":
            return web.json_response([received.body for received in self.log])
        if request.path not in ("/_stats", "/_reset"):
            return to_response(Behaviour.status(404, f"No {request.path} here"))
        self._uncount(request.protocol)
        if request.path == "/_reset":
            self.clear()
        return web.json_response(self.stats())

    async def _chat(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            body = json.loads(await request.read())
        except ValueError:
            return to_response(Behaviour.status(400, "The body is not JSON"))
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(self._counters.requests, body, headers)
        self._count(received)
        behaviour = (self.behave and self.behave(received)) or NORMAL
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
            return Behaviour.raw(completion(received, content, reason))
        if received.body.get("stream"):
            return Behaviour.status(400, "Streaming is not supported")
        return Behaviour.raw(completion(received, self.answer(received)))

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


class ServerProcess:
    """The server as a process of its own, so that it competes for no lock."""

    def __init__(self, latency: float = 0.0) -> None:
        """Prepares a server with this latency that ``with`` starts and stops."""
        self.latency = latency

    def __enter__(self) -> "ServerProcess":
        """Starts the process and waits until it listens."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, "--latency", str(self.latency)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.base = self._process.stdout.readline().strip()
        if not self.base:
            self._process.communicate()
            raise RuntimeError("the server process did not start")
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the input of the process, at which it ends."""
        try:
            self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def stats(self) -> dict[str, int]:
        """Returns the counts of the server."""
        return self._call("GET", "/_stats")

    def reset(self) -> None:
        """Starts the counts again."""
        self._call("POST", "/_reset")

    def _call(self, method: str, path: str) -> dict[str, int]:
        address = self.base.removeprefix("http://").removesuffix("/v1")
        connection = http.client.HTTPConnection(address, timeout=10)
        try:
            connection.request(method, path)
            return json.load(connection.getresponse())
        finally:
            connection.close()


def main() -> None:
    """Serves until standard input closes or the process is told to end."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--log", action="store_true", help="keep requests for /_log")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with OpenAIServer(latency=options.latency, keep_log=options.log) as server:
        print(server.base, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
