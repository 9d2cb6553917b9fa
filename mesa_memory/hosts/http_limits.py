"""Limits that a server must keep when it answers a request.

A request is not redirected, and a reply ends in time and within a size. The limits hold
for the requests of this package with any HTTP client that litellm makes, for texts and
for embeddings.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from mesa_memory.core.fault_table import ERROR_BYTES
from mesa_memory.core.reply import token_count
from mesa_memory.core.text.addresses import host_and_path

#: a longer body is no reply of a language model; bytes
BODY_BYTES = 10_000_000
#: the only encoding of a body that is asked for: a few packed bytes may unpack to many
UNPACKED = "identity"
#: of the body as it was sent, not of what is handed on
_OF_THE_SENDING = ("content-encoding", "content-length", "transfer-encoding")

_DECODER = json.JSONDecoder()
#: the HTTP state, body and headers of an error
type Refused = tuple[int, bytes, Mapping[str, str]]


@dataclass
class _Bounds:
    size: int
    until: float
    refused: list[Refused] = field(default_factory=list)


_bounds: ContextVar[_Bounds | None] = ContextVar("bounds", default=None)


@contextmanager
def bounded(
    size: int = BODY_BYTES, seconds: float = float("inf")
) -> Iterator[list[Refused]]:
    """Bounds the replies to the requests made inside, and gives the last one if refused.

    Args:
        size: longest body, bytes.
        seconds: until a reply must be whole.
    """
    bounds = _Bounds(size, time.monotonic() + seconds)
    token = _bounds.set(bounds)
    try:
        yield bounds.refused
    finally:
        _bounds.reset(token)


def limit_client(client: httpx.Client | httpx.AsyncClient) -> None:
    """Limits an HTTP client from now on; again does nothing."""
    hooks: dict[str, list[Any]] = client.event_hooks
    waits = isinstance(client, httpx.AsyncClient)
    asked: Any = _async_asked if waits else _asked
    answered: Any = _async_answered if waits else _answered
    if answered not in hooks["response"]:
        client.event_hooks = {
            "request": [*hooks["request"], asked],
            "response": [answered, *hooks["response"]],
        }


def _asked(request: httpx.Request) -> None:
    if bounds := _bounds.get():
        bounds.refused.clear()
        request.headers["accept-encoding"] = UNPACKED


async def _async_asked(request: httpx.Request) -> None:
    _asked(request)


def _answered(response: httpx.Response) -> None:
    if not (bounds := _bounds.get()):
        return
    body, stream = _body_of(response, bounds), response.stream
    assert isinstance(stream, httpx.SyncByteStream)
    if not body.refusal:
        for part in stream:
            if not _goes_on(response, body, part, bounds):
                break
    stream.close()
    _end(response, body, bounds)


async def _async_answered(response: httpx.Response) -> None:
    if not (bounds := _bounds.get()):
        return
    body, stream = _body_of(response, bounds), response.stream
    assert isinstance(stream, httpx.AsyncByteStream)
    if not body.refusal:
        async for part in stream:
            if not _goes_on(response, body, part, bounds):
                break
    await stream.aclose()
    _end(response, body, bounds)


def _body_of(response: httpx.Response, bounds: _Bounds) -> "Body":
    """The body of a response; a redirect's has a refusal and is not read.

    Headers of a request may hold a key, its body what agents remember.
    """
    named = response.headers.get
    packing, kind = named("content-encoding", ""), named("content-type", "")
    body = Body(response.status_code, packing, kind, bounds.size)
    if response.has_redirect_location:
        target = response.url.join(response.headers["location"])
        body.refusal, body.status = redirected(f"{target}"), 400
    return body


def _goes_on(
    response: httpx.Response, body: "Body", part: bytes, bounds: _Bounds
) -> bool:
    """Adds a part; False if the rest need not be read.

    Raises:
        httpx.ReadTimeout: if the reply takes too long.
    """
    if time.monotonic() > bounds.until:
        raise httpx.ReadTimeout(
            "the reply did not end in time", request=response.request
        )
    return body.add(part)


def _end(response: httpx.Response, body: "Body", bounds: _Bounds | None) -> None:
    """Replaces a response's body by its read bytes, or by a refusal."""
    content, headers = _with_true_counts(body.content), response.headers
    if body.refusal:
        error = {"message": refusal(body.refusal), "type": "refused"}
        content = json.dumps({"error": error}).encode()
        response.status_code = body.status
        headers["content-type"] = "application/json"
        headers.pop("location", None)
    for name in _OF_THE_SENDING:
        headers.pop(name, None)
    response.stream = httpx.ByteStream(content)
    if bounds and response.is_error:
        bounds.refused.append((response.status_code, content, headers))


class Body:
    """A reply's body that is put together while it arrives, within bounds.

    Only the beginning of an error is read.

    Args:
        status: of HTTP.
        packing: the reply's ``content-encoding``.
        kind: its ``content-type``.
        size: longest body, bytes.

    Attributes:
        refusal: the reason why this is not a reply; empty while it may be one.
        status: the HTTP state with which a refusal is reported.
    """

    status = 502

    def __init__(
        self, status: int, packing: str, kind: str, size: int = BODY_BYTES
    ) -> None:
        self._is_error, self.refusal = status >= 400, ""
        self._size = ERROR_BYTES if self._is_error else size
        self._parts = bytearray()
        if packing.strip().lower() not in ("", UNPACKED):
            self.refusal = f"its reply is packed in a way not asked for, {packing[:40]}"
        if 200 <= status < 300 and kind.startswith("text/html"):
            self.refusal = "its reply is an HTML page"

    def add(self, part: bytes) -> bool:
        """False if the rest need not be read."""
        room = self._size - len(self._parts)
        self._parts += part[:room]
        if self._is_error:
            return len(part) < room
        if len(part) > room:
            self.refusal = f"its reply has more than {self._size} bytes"
        return not self.refusal

    @property
    def content(self) -> bytes:
        """The bytes read."""
        return bytes(self._parts)


_USAGE = re.compile(rb'"usage(?:Metadata)?"\s*:\s*(?=\{)')


def _with_true_counts(body: bytes) -> bytes:
    """A reply without counts that cannot be true: litellm gives up the reply for one."""
    for found in reversed([*_USAGE.finditer(body)]):
        text = body[found.end() :].decode("utf-8", "replace")
        try:
            usage, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            continue
        true = _true_counts(usage)
        if true != usage:
            after = text[end:].encode()
            body = body[: found.end()] + json.dumps(true).encode() + after
    return body


def _true_counts(usage: Any) -> Any:
    """A usage without the numbers of tokens that are not numbers of tokens."""
    if not isinstance(usage, dict):
        return usage
    kept = {name: _true_counts(value) for name, value in usage.items()}
    return {
        name: value
        for name, value in kept.items()
        if isinstance(value, dict)
        or not name.lower().endswith(("tokens", "tokencount"))
        or token_count(value) is not None
    }


def redirected(target: str) -> str:
    """The reason for refusing a redirect."""
    place = f"{urlsplit(target).scheme}://{host_and_path(target)}"
    return f"it redirects to {place}; give that address as api_base if it is right"


def refusal(reason: str) -> str:
    """The message about a server whose reply is refused."""
    return f"the server was refused: {reason}"
