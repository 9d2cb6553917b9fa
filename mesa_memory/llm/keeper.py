"""A process that finishes the requests of worker processes that are killed.

    python -m mesa_memory.llm.keeper SOCKET

One for each store on a machine, reached by a socket that only its user may open. It
sends the requests of workers to providers and gives the answers back. When a worker is
gone, what it had asked goes on; whoever goes on with its run and asks the same gets that
answer, and the provider is not asked again. Answers are held in memory alone: those of
the step that a run is in, and when everybody is gone for some minutes more.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import signal
import ssl
import sys
import time
from collections import defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yarl import URL

from mesa_memory.llm.connections import connections
from mesa_memory.llm.frames import Said, framed, heard

#: seconds without anybody after which it ends; and while it has answers for somebody
REST_S, LINGER_S = 5.0, 600.0
#: seconds that a request may take beyond what its worker would wait for
MORE_S = 5.0


@dataclass(eq=False)
class _Line:
    """To one worker.

    Attributes:
        answering: its requests under way, by number.
        trusted: how it wants servers to prove who they are, by name.
    """

    writer: asyncio.StreamWriter
    gone: bool = False
    answering: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    trusted: dict[str, ssl.SSLContext] = field(default_factory=dict)

    def say(self, head: dict[str, Any], body: bytes = b"") -> None:
        if not self.gone:
            self.writer.write(framed(head, body))


@dataclass(eq=False)
class _Request:
    """What was sent to a provider, and by whom.

    Attributes:
        content: hash of what was sent.
        after: the last finished step of its run then.
        line: of the worker that waits for it, or is gone.
        answer: what comes; it raises nothing.
    """

    content: bytes
    after: float
    line: _Line
    answer: asyncio.Task[Said]

    @property
    def failed(self) -> bool:
        """True if it has no answer that was paid for, and is to be sent again."""
        return self.answer.done() and not 200 <= self._status < 300

    @property
    def _status(self) -> int:
        return self.answer.result()[0].get("status", 0)


@dataclass
class _Run:
    """The requests of the step that a run is in.

    Attributes:
        after: the last finished step.
        requests: by what they are in the run, as they were sent.
    """

    after: float = float("-inf")
    requests: dict[str, list[_Request]] = field(default_factory=dict)

    def go_on(self, after: float) -> None:
        """What was answered in a step that has ended since is in the run's store."""
        if after > self.after:
            kept = {
                key: [r for r in requests if r.after >= after]
                for key, requests in self.requests.items()
            }
            self.requests = {key: left for key, left in kept.items() if left}
        self.after = after

    def left(self, key: str, content: bytes | None = None) -> _Request | None:
        """The first such request whose worker is gone, and which has not failed."""
        for request in self.requests.get(key, ()):
            if request.line.gone and content in (None, request.content):
                return request
        return None

    def add(self, key: str, request: _Request) -> None:
        """One more."""
        self.requests.setdefault(key, []).append(request)

    def remove(self, key: str, request: _Request) -> None:
        """Nobody shall have this one; it may be gone already."""
        left = [r for r in self.requests.pop(key, ()) if r is not request]
        if left:
            self.requests[key] = left


class Keeper:
    """Sends what workers ask, and has the answers for those that follow them."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = defaultdict(_Run)
        self._lines: set[_Line] = set()
        self._under_way: set[asyncio.Task[Any]] = set()

    @property
    def busy(self) -> bool:
        """True while a worker is there or a provider is asked."""
        return bool(self._lines or self._under_way)

    @property
    def holds(self) -> bool:
        """True while it has an answer that somebody may still ask for."""
        return any(run.requests for run in self._runs.values())

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Listens to a worker as long as it lives."""
        line = _Line(writer)
        self._lines.add(line)
        try:
            while True:
                self._hear(line, *await heard(reader))
        except (EOFError, OSError):
            line.gone = True
        finally:
            self._lines.discard(line)
            writer.close()

    def _hear(self, line: _Line, head: dict[str, Any], body: bytes) -> None:
        match head["say"]:
            case "hello":
                line.say({"pid": os.getpid()})
            case "trust":
                line.trusted[head["name"]] = _trusting(head, body.decode())
            case "ask":
                task = self._start(self._answer(line, head, body))
                line.answering[head["number"]] = task
            case "cancel":
                if head["number"] in line.answering:
                    line.answering.pop(head["number"]).cancel()
            case "forget":
                self._runs.pop(head["run"], None)

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _answer(self, line: _Line, head: dict[str, Any], body: bytes) -> None:
        """Answers a request with what a worker that is gone was answered, or anew."""
        run, key = self._runs[head["run"]], head["key"]
        run.go_on(head["after"])
        for _ in range(head["stored"]):  # of such requests the store had the answers
            if (known := run.left(key)) is not None:
                run.remove(key, known)
        content = hashlib.sha256(head["url"].encode() + b"\n" + body).digest()
        while (request := run.left(key, content)) is not None:
            request.line = line  # if it dies, too, the next one waits
            if not await self._failed(run, key, request):
                break
        else:
            fetching = self._start(_fetched(head, body, line.trusted))
            request = _Request(content, head["after"], line, fetching)
            run.add(key, request)
            await self._failed(run, key, request)
        told, found = request.answer.result()
        line.answering.pop(head["number"], None)
        line.say({**told, "number": head["number"]}, found)

    async def _failed(self, run: _Run, key: str, request: _Request) -> bool:
        """Waits for the answer; True if it is no good. Who waits may give it up."""
        try:
            await asyncio.shield(request.answer)
        except asyncio.CancelledError:
            request.answer.cancel()
            run.remove(key, request)
            raise
        if request.failed:
            run.remove(key, request)
        return request.failed


async def _fetched(
    head: dict[str, Any], body: bytes, trusted: dict[str, ssl.SSLContext]
) -> Said:
    """What the provider says; or the error, of which nothing is raised."""
    try:
        async with (
            asyncio.timeout(head["timeout"] + MORE_S),
            connections.session().request(
                head["method"],
                URL(head["url"], encoded=True),
                data=body or None,
                headers=head["headers"],
                allow_redirects=False,
                proxy=head["proxy"],
                ssl=trusted.get(head["tls"], head["tls"]),
            ) as response,
        ):
            content = bytearray()
            async for part in response.content.iter_any():
                content += part
                if len(content) > head["most"]:
                    response.close()
                    break
            state = {"status": response.status, "headers": [*response.headers.items()]}
            return state, bytes(content)
    except TimeoutError:
        return {"error": "there was no answer in time"}, b""
    except ValueError:  # it cannot be sent: whoever wants it finds out why
        return {"unsent": True}, b""
    except Exception as error:  # of any class: a worker is told, and may try again
        return {"error": str(error) or type(error).__name__}, b""


def _trusting(head: dict[str, Any], certificates: str) -> ssl.SSLContext:
    """The same trust in servers that a worker has."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion(head["least"])
    context.set_ciphers(head["ciphers"])
    if certificates:
        context.load_verify_locations(cadata=certificates)
    if not head["verified"]:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@contextlib.contextmanager
def _alone(folder: Path) -> Any:
    """One at a time begins or ends."""
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


async def _kept_at(path: Path) -> None:
    """Serves at a socket until nobody needs it; at once if somebody else does."""
    keeper = Keeper()
    with _alone(path.parent):
        try:
            _, other = await asyncio.open_unix_connection(path)
        except OSError:  # nobody is there; or was killed, and left the socket behind
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(keeper.serve, path)
        else:
            other.close()
            return
    await _until_unneeded(keeper)
    with _alone(path.parent):
        path.unlink(missing_ok=True)
        server.close()
    await _until_unneeded(keeper)  # somebody may have come meanwhile


async def _until_unneeded(keeper: Keeper) -> None:
    alone_since = time.monotonic()
    while True:
        rest = LINGER_S if keeper.holds else REST_S
        if keeper.busy:
            alone_since = time.monotonic()
        elif time.monotonic() - alone_since >= rest:
            return
        await asyncio.sleep(0.5)


def main() -> None:
    """Serves at the socket that is named."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of its workers' terminal
    asyncio.run(_kept_at(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
