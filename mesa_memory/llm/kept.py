"""A worker's line to the keeper of its store, through which its requests are sent.

See ``keeper``. Where no keeper can be had, requests are sent by the worker itself.
"""

import asyncio
import hashlib
import itertools
import os
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from multidict import CIMultiDict

from mesa_memory.core.at_fork import at_fork
from mesa_memory.core.proxies import proxy_of
from mesa_memory.core.recorder import Asked
from mesa_memory.core.redaction import logger as logger_of
from mesa_memory.core.requests import LLMRequest
from mesa_memory.hosts.wire import BODY_BYTES
from mesa_memory.llm.frames import framed, heard

logger = logger_of(__name__)

#: seconds until a keeper must be there
START_S = 60.0
#: longest name of a socket in bytes, on all systems
LONGEST_PATH = 100


@dataclass(frozen=True)
class Sent:
    """An HTTP request as it goes to a provider.

    Attributes:
        headers: with a key, perhaps.
        tls: how the server proves who it is, as ``aiohttp`` takes it.
        timeout: seconds.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    tls: Any
    timeout: float


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        body: as it was sent, packed or not.
    """

    status: int
    headers: CIMultiDict[str]
    body: bytes

    def close(self) -> None:
        """There is no connection to close."""


class Keeping:
    """The lines of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs = 0  # under way in this process, which may be killed
        self._possible = hasattr(asyncio, "open_unix_connection")
        self._lines: dict[tuple[Any, str], _Line] = {}

    @property
    def wanted(self) -> bool:
        """True while requests are sent through a keeper, if they are of recorded runs."""
        return self._runs > 0 and self._possible

    @contextmanager
    def through(self) -> Iterator[None]:
        """Around a run that a worker makes: its requests are sent through a keeper."""
        with self._lock:
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1

    async def ready(self, of: Any) -> None:
        """Waits until the keeper is there, if there is to be one.

        Args:
            of: the services of a run; what its ``recorder`` does not record, nobody
                keeps.
        """
        recorder = getattr(of, "recorder", None)
        if self.wanted and recorder is not None:
            await self._line(recorder.store.location)

    def asked(self, of: Any, request: LLMRequest) -> Asked | None:
        """Which request of its run it is; None if nobody is to keep its answer."""
        recorder = getattr(of, "recorder", None)
        return recorder.asked(request) if self.wanted and recorder else None

    async def ask(self, asked: Asked, sent: Sent) -> Answer | None:
        """A provider's answer; None if the request is to be sent without a keeper.

        Raises:
            ConnectionError: if there is none.
        """
        proxy = proxy_of(urlsplit(sent.url))
        if not self.wanted or (proxy or "").startswith("socks"):
            return None
        line = await self._line(asked.store)
        if line is None:
            return None
        said = {
            "run": f"{asked.run}",
            "key": asked.key,
            "after": asked.after,
            "stored": asked.stored,
            "method": sent.method,
            "url": sent.url,
            "headers": [*sent.headers.items()],
            "proxy": proxy,
            "tls": line.trusts(sent.tls) if sent.url.startswith("https") else True,
            "timeout": sent.timeout,
            "most": BODY_BYTES,
        }
        head, content = await line.ask(said, sent.body)
        if "error" in head:
            raise ConnectionError(head["error"])
        if "unsent" in head:
            return None
        return Answer(head["status"], CIMultiDict(head["headers"]), content)

    def forget(self, store: str, run: int) -> None:
        """A run has ended as it should: nobody will ask for its answers."""
        for (loop, where), line in list(self._lines.items()):
            if where == store and not line.closed and loop.is_running():
                loop.call_soon_threadsafe(line.say, {"say": "forget", "run": f"{run}"})

    async def _line(self, store: str) -> "_Line | None":
        """The line to a store's keeper, which is started; None if there is none."""
        loop = asyncio.get_running_loop()
        line = self._lines.get((loop, store))
        if line is None or line.closed:
            line = self._lines[loop, store] = _Line(store)
        try:
            await asyncio.shield(line.opened)  # others wait for it, too
        except OSError as error:
            if self._possible:
                self._possible = False
                logger.warning(
                    "requests are sent without a keeper (%s). If a worker is killed, "
                    "those under way are sent again; nothing else changes.",
                    str(error) or f"it did not start within {START_S:g} s",
                )
            return None
        return line

    def forked(self) -> None:
        """In a child process: the lines are the parent's, who would seem to live on."""
        self._lock = threading.Lock()
        for line in self._lines.values():
            line.forked()
        self._lines.clear()


class _Line:
    """A connection to a keeper, opened at once."""

    def __init__(self, store: str) -> None:
        self.closed = False
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._trusted: dict[int, str] = {}
        self._writer: Any = None
        self.opened: Awaitable[None] = asyncio.ensure_future(self._open(store))

    async def ask(self, head: dict[str, Any], body: bytes) -> Any:
        """The head and body of the answer.

        Raises:
            ConnectionError: if the keeper is gone.
        """
        if self.closed:
            raise ConnectionError("the keeper has ended")
        number = next(self._numbers)
        answer = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self.say({**head, "say": "ask", "number": number}, body)
        try:
            return await answer
        except asyncio.CancelledError:
            self.say({"say": "cancel", "number": number})
            raise
        finally:
            self._answers.pop(number, None)

    def say(self, head: dict[str, Any], body: bytes = b"") -> None:
        """Sends something to the keeper."""
        if not self.closed:
            self._writer.write(framed(head, body))

    def trusts(self, tls: Any) -> Any:
        """The name under which the keeper knows a TLS context, or a bool as it is."""
        if not isinstance(tls, ssl.SSLContext):
            return bool(tls)
        if id(tls) not in self._trusted:
            name, head, certificates = _described(tls)
            self._trusted[id(tls)] = name
            self.say({"say": "trust", "name": name, **head}, certificates)
        return self._trusted[id(tls)]

    def forked(self) -> None:
        """Lets go of this process's end, and says nothing to the other.

        What is closed later is something else under the same number.
        """
        if self._writer is not None and not self.closed:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, self._writer.get_extra_info("socket").fileno())
            os.close(nothing)
        self.closed = True

    async def _open(self, store: str) -> None:
        """Connects to the keeper, which is started if nobody is there.

        Raises:
            OSError: if that fails.
        """
        try:
            path = _place(store)
            reader, self._writer = await _connected(path)
        except OSError:
            self.closed = True
            raise
        self._listening = asyncio.ensure_future(self._listen(reader))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                head, body = await heard(reader)
                answer = self._answers.get(head["number"])
                if answer is not None and not answer.done():
                    answer.set_result((head, body))
        except (EOFError, OSError):
            self.closed = True
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(ConnectionError("the keeper has ended"))
        finally:
            self._writer.close()


async def _connected(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Both ends of a connection to a keeper that has answered.

    Raises:
        OSError: if none answers in time.
    """
    started: Any = None
    async with asyncio.timeout(START_S):
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(path)
                writer.write(framed({"say": "hello"}))
                await heard(reader)
                return reader, writer
            except (EOFError, OSError):
                code = started and started.poll()
                if code:
                    raise OSError(f"it ended with exit code {code}") from None
                if started is None or code == 0:  # 0: another one was there
                    started = await asyncio.to_thread(_start, path)
            await asyncio.sleep(0.05)


def _start(path: Path) -> Any:
    """Starts a keeper that outlives this process, and does not hear its signals."""
    known = os.pathsep.join(map(os.path.abspath, sys.path))
    started = subprocess.Popen(
        [sys.executable, "-m", "mesa_memory.llm.keeper", str(path)],
        env={**os.environ, "PYTHONPATH": known},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=path.parent,
        start_new_session=True,
    )
    _started.append(started)
    return started


#: kept, as Python warns of processes that go on when nobody has them any more
_started: list[Any] = []


def _place(store: str) -> Path:
    """Where the keeper of a store is reached: in a folder of this user alone.

    Raises:
        OSError: if it cannot be had.
    """
    if not hasattr(asyncio, "open_unix_connection"):
        raise OSError("this system has no Unix sockets")
    folder = Path(tempfile.gettempdir()).resolve() / f"mesa-memory-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if about.st_uid != os.getuid() or about.st_mode & 0o077 or folder.is_symlink():
        raise OSError(f"others may write into {folder}")
    path = folder / hashlib.sha256(store.encode()).hexdigest()[:16]
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise OSError(f"{folder} is too long a name for a socket")
    return path


@cache
def _described(tls: ssl.SSLContext) -> tuple[str, dict[str, Any], bytes]:
    """A TLS context as a keeper makes it: its name, settings and certificates."""
    found = tls.get_ca_certs(binary_form=True)
    certificates = "".join(map(ssl.DER_cert_to_PEM_cert, found)).encode()
    # Those of TLS 1.3 are always there, and are not chosen by this.
    ciphers = [c["name"] for c in tls.get_ciphers() if c["protocol"] != "TLSv1.3"]
    head = {
        "verified": tls.verify_mode != ssl.CERT_NONE,
        "least": int(tls.minimum_version),
        "ciphers": ":".join(ciphers) + f":@SECLEVEL={tls.security_level}",
    }
    name = hashlib.sha256(certificates + repr(head).encode()).hexdigest()
    return name, head, certificates


keeping = Keeping()
at_fork(after_in_child=keeping.forked)
