"""What a server may do with a request: not pass it on to another host, nor answer without end.

It holds for every HTTP client that litellm makes, for texts and for embeddings.
"""

import json
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx

from mesa_memory.core.fault_table import ERROR_BYTES
from mesa_memory.core.validate import token_count

#: a longer body is no reply of a language model; bytes, unpacked
BODY_BYTES = 10_000_000
#: most redirects of a request, all within its own server
REDIRECTS = 20
#: said of a server that redirects without end
ENDLESS = f"it redirects more than {REDIRECTS} times"
#: the only packing that servers are told of; zlib's own is read, too
PACKED = ("gzip", "x-gzip", "deflate")
#: zlib's ``wbits``: either header, found by looking
_EITHER_HEADER = 47
#: of the body as it was sent, not of what is handed on
_OF_THE_PACKING = ("content-encoding", "content-length", "transfer-encoding")

_DECODER = json.JSONDecoder()
_GIVEN = httpx.USE_CLIENT_DEFAULT


#: the HTTP state, body and headers of an error
type Refused = tuple[int, bytes, Mapping[str, str]]


@dataclass(frozen=True)
class _Bounds:
    size: int
    until: float
    refused: list[Refused] = field(default_factory=list)

    def note(self, response: httpx.Response) -> httpx.Response:
        """The response, whose error is kept if it is one."""
        if response.is_error:
            headers = response.headers
            self.refused.append((response.status_code, response.content, headers))
        return response


_bounds: ContextVar[_Bounds | None] = ContextVar("bounds", default=None)


@contextmanager
def bounded(
    size: int = BODY_BYTES, seconds: float = float("inf")
) -> Iterator[list[Refused]]:
    """Bounds the replies to the requests made inside, and gives the last one if refused.

    Args:
        size: longest body, bytes after unpacking.
        seconds: until a reply must be whole.
    """
    bounds = _Bounds(size, time.monotonic() + seconds)
    token = _bounds.set(bounds)
    try:
        yield bounds.refused
    finally:
        _bounds.reset(token)


def guard(client: Any) -> Any:
    """The client itself, guarded from now on; one of a class of the user's own is not.

    Its class is changed, and nothing put around it: litellm looks at the insides of its
    clients, and closes those that nobody else holds.
    """
    guarded = {httpx.Client: GuardedClient, httpx.AsyncClient: GuardedAsyncClient}
    client.__class__ = guarded.get(type(client), type(client))
    return client


class GuardedClient(httpx.Client):
    """A client whose servers pass nothing on to other hosts, and answer within bounds."""

    def send(
        self,
        request: httpx.Request,
        *,
        stream: bool = False,
        auth: Any = _GIVEN,
        follow_redirects: Any = _GIVEN,
    ) -> httpx.Response:
        """See ``httpx.Client.send``."""
        follows = (
            self.follow_redirects if follow_redirects is _GIVEN else follow_redirects
        )
        route, bounds = _Route(request, follows), _bounds.get()
        while True:
            asked = _prepared(route.request, bounds)
            response = super().send(
                asked, stream=True, auth=auth, follow_redirects=False
            )
            try:
                going_on = route.goes_on(response)
                if going_on or route.refused:
                    response.close()
                elif bounds:
                    body = _HttpxBody(response, bounds)
                    for part in response.iter_raw():
                        if not body.add(part):
                            break
                    response.close()
                    return bounds.note(body.response())
                elif not stream:
                    response.read()
            except BaseException:
                response.close()
                raise
            if not going_on:
                final = route.refused or response
                return bounds.note(final) if bounds else final


class GuardedAsyncClient(httpx.AsyncClient):
    """``GuardedClient`` for event loops."""

    async def send(
        self,
        request: httpx.Request,
        *,
        stream: bool = False,
        auth: Any = _GIVEN,
        follow_redirects: Any = _GIVEN,
    ) -> httpx.Response:
        """See ``httpx.AsyncClient.send``."""
        follows = (
            self.follow_redirects if follow_redirects is _GIVEN else follow_redirects
        )
        route, bounds = _Route(request, follows), _bounds.get()
        while True:
            asked = _prepared(route.request, bounds)
            response = await super().send(
                asked, stream=True, auth=auth, follow_redirects=False
            )
            try:
                going_on = route.goes_on(response)
                if going_on or route.refused:
                    await response.aclose()
                elif bounds:
                    body = _HttpxBody(response, bounds)
                    async for part in response.aiter_raw():
                        if not body.add(part):
                            break
                    await response.aclose()
                    return bounds.note(body.response())
                elif not stream:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
            if not going_on:
                final = route.refused or response
                return bounds.note(final) if bounds else final


class _Route:
    """Where a request goes: a server may pass it on within itself only.

    Headers of a request may hold a key, its body what agents remember.

    Attributes:
        request: the next to be sent.
        refused: the response in place of one that passes the request on elsewhere.
    """

    def __init__(self, request: httpx.Request, follows: bool) -> None:
        self.request, self._follows = request, follows
        self.refused: httpx.Response | None = None
        self._left = REDIRECTS

    def goes_on(self, response: httpx.Response) -> bool:
        """True if the request is to be sent once more, as the response says."""
        following = response.next_request
        if following is None or not self._follows:
            return False
        if _origin(following.url) != _origin(self.request.url):
            reason = elsewhere(following.url.host)
            self.refused = _refused(400, reason, self.request)
        elif not self._left:
            reason = ENDLESS
            self.refused = _refused(400, reason, self.request)
        else:
            self.request, self._left = following, self._left - 1
        return self.refused is None


class Body:
    """A reply's body that is put together and unpacked while it arrives, within bounds.

    Only the beginning of an error is read.

    Args:
        status: of HTTP.
        packing: the reply's ``content-encoding``.
        kind: its ``content-type``.
        size: longest body, bytes after unpacking.

    Attributes:
        refusal: why this is no reply; empty while it may be one.
    """

    def __init__(
        self, status: int, packing: str, kind: str, size: int = BODY_BYTES
    ) -> None:
        self._is_error, self._body, self.refusal = status >= 400, bytearray(), ""
        self._size = ERROR_BYTES if self._is_error else size
        self._unpack: Any = None
        packing = packing.strip().lower()
        if packing in PACKED:
            self._unpack = zlib.decompressobj(_EITHER_HEADER)
        elif packing not in ("", "identity"):
            self.refusal = f"its reply is packed in a way not asked for, {packing[:40]}"
        if 200 <= status < 300 and kind.startswith("text/html"):
            self.refusal = "its reply is an HTML page"

    def add(self, part: bytes) -> bool:
        """False if the rest need not be read."""
        room = self._size - len(self._body)
        if self._unpack and not self.refusal:
            try:  # never more than there is room for: a few bytes may unpack to many
                part = self._unpack.decompress(part, room + 1)
            except zlib.error as error:
                self.refusal = f"its reply cannot be unpacked ({error})"
        if self._is_error and len(part) >= room:
            self._body += part[:room]
            return False
        if len(part) > room:
            self.refusal = f"its reply has more than {self._size} bytes"
        self._body += part
        return not self.refusal

    @property
    def content(self) -> bytes:
        """What was read."""
        return bytes(self._body)


class _HttpxBody:
    """A body as httpx gives it, until a time."""

    def __init__(self, response: httpx.Response, bounds: _Bounds) -> None:
        self._from, self._until = response, bounds.until
        named = response.headers.get
        packing, kind = named("content-encoding", ""), named("content-type", "")
        self._body = Body(response.status_code, packing, kind, bounds.size)

    def add(self, part: bytes) -> bool:
        """False if the rest need not be read.

        Raises:
            httpx.ReadTimeout: if the reply takes too long.
        """
        if time.monotonic() > self._until:
            raise httpx.ReadTimeout(
                "the reply did not end in time", request=self._from.request
            )
        return self._body.add(part)

    def response(self) -> httpx.Response:
        """What was read, or a refusal."""
        if self._body.refusal:
            return _refused(502, self._body.refusal, self._from.request)
        headers = [
            (name, value)
            for name, value in self._from.headers.multi_items()
            if name.lower() not in _OF_THE_PACKING
        ]
        return httpx.Response(
            self._from.status_code,
            headers=headers,
            content=_with_true_counts(self._body.content),
            request=self._from.request,
        )


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


def _prepared(request: httpx.Request, bounds: _Bounds | None) -> httpx.Request:
    if bounds:
        bounds.refused.clear()
        request.headers["accept-encoding"] = "gzip"
    return request


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def elsewhere(host: str | None) -> str:
    """Said of a server that passes a request on to another one."""
    return f"it redirects to another host, {host}"


def refusal(reason: str) -> str:
    """What is said of a server that is not listened to."""
    return f"the server was refused: {reason}"


def _refused(status: int, reason: str, request: httpx.Request) -> httpx.Response:
    error = {"message": refusal(reason), "type": "refused"}
    return httpx.Response(
        status,
        headers={"content-type": "application/json"},
        content=json.dumps({"error": error}).encode(),
        request=request,
    )
