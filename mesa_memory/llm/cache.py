"""The cache of a run: the same request is answered once, the same text embedded once.

The model and its address, the messages, the schema and the tools, the sampling settings
and the number of the replicate. In a study also the seed, the agent and the step, see
``Occurrences``. Never the purpose, or how a request is sent: timeouts, retries, secrets
in headers, keys.

A file that cannot be used at the start is a ``CacheError``. If it fails later, one
warning says so, and values that cannot be read or written are computed again.

The key of a response covers everything that the answer depends on, see ``request_key``.
The file holds hashes of requests and texts, and responses without known secrets;
prompts, texts and keys are not in it.
"""

import asyncio
import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from pydantic import BaseModel, PydanticUserError

from mesa_memory.core.content import plain
from mesa_memory.core.requests import ChatRequest, LLMRequest, Reply
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.text.redaction import scrub_json
from mesa_memory.core.text.replies import Unusable, check_end, refuses
from mesa_memory.errors import CacheError
from mesa_memory.hosts.litellm import address_of
from mesa_memory.llm.base import LLMSettings
from mesa_memory.llm.doubles.replay import response, response_data

#: increased when the key of a request changes
KEY_VERSION = 2
#: steps of which the numbers of requests are known; work in the background is behind
NUMBERED_STEPS = 100


def request_key(
    request: LLMRequest, settings: LLMSettings, replicate: int = 0
) -> bytes:
    """The key of the response to a request: a SHA-256, 32 bytes.

    Args:
        settings: how requests are sent, of which ``temperature``, ``seed``,
            ``max_tokens`` and ``options`` matter.
        replicate: tells answers apart that shall be asked for anew.
    """
    asked = {
        "form": KEY_VERSION,
        "reasoning": isinstance(request, ChatRequest),
        "replicate": replicate,
        "model": request.model,
        "address": _address(request.model or "", settings.api_base(request)),
        "messages": plain(request.messages()),
        "schema": None if request.schema is None else _shape(request.schema),
        "arguments": {
            n: _shape(v) if isinstance(v, type) else plain(v)
            for n, v in request.arguments.items()
        },
        "settings": settings.told,
    }
    text = json.dumps(asked, sort_keys=True, default=repr).encode()
    # A key that is changed changes no answer, wherever it stands.
    return hashlib.sha256(scrub_json(text)).digest()


class Occurrences:
    """Numbers the equal requests of a run, so that each has an answer of its own.

    A model that samples answers an equal request differently. Runs of one seed and
    replicate share their answers, agent by agent and step by step; others do not.

    Args:
        seed: of the run, as plain data.
    """

    def __init__(self, seed: Any) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._taken: dict[float, dict[tuple, set[int]]] = {}

    def take(self, key: bytes, request: LLMRequest) -> int:
        """The number of this equal request of an agent in a step, from 0.

        Args:
            key: see ``request_key``.
        """
        with self._lock:
            step = self._taken.setdefault(request.step, {})
            taken = step.setdefault((key, repr(request.agent)), set())
            number = next(n for n in count() if n not in taken)
            taken.add(number)
            while len(self._taken) > NUMBERED_STEPS:
                del self._taken[next(iter(self._taken))]
        return number

    def give_back(self, key: bytes, request: LLMRequest, number: int) -> None:
        """Frees a number that no answer was cached under."""
        with self._lock:
            step = self._taken.get(request.step, {})
            step.get((key, repr(request.agent)), set()).discard(number)

    def key(self, key: bytes, request: LLMRequest, number: int) -> bytes:
        """The key of an answer in this run: a SHA-256, 32 bytes."""
        place = [self._seed, repr(request.agent), float(request.step), number]
        return hashlib.sha256(key + json.dumps(place).encode()).digest()


@lru_cache(maxsize=1024)
def _shape(schema: Any) -> Any:
    name = f"{schema.__module__}.{schema.__qualname__}"
    try:
        return schema.model_json_schema()
    except (AttributeError, PydanticUserError):  # a class of another kind, or no schema
        return name


def _address(model: str, api_base: str | None) -> str | None:
    """The address of the model's server, without keys; None if unknown."""
    try:
        base = address_of(model, api_base, None).base
    except Exception:  # litellm's own, for a name that it does not know
        base = api_base
    if not base:
        return None
    parts = urlsplit(base.strip())
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


logger = logger_of(__name__)

#: SQLite's application id of a cache ("mmac"), and the version of its format
APPLICATION_ID, FORMAT_VERSION = 0x6D6D6163, 1
#: seconds to wait for another process that writes, and after a write has failed
LOCK_TIMEOUT_S, SHORT_LOCK_TIMEOUT_S = 10.0, 0.05
#: longest cached value; a stranger's file may hold anything
MAX_VALUE_BYTES = 2**24

_CREATE = "CREATE TABLE IF NOT EXISTS cached (key BLOB PRIMARY KEY, value BLOB)"
_READ = "SELECT value FROM cached WHERE key = ?"
_WRITE = "INSERT OR {} INTO cached VALUES (?, ?)"


class CacheFile:
    """Values by key, which processes may share: each call opens its own connection.

    The journal is SQLite's usual one, which network disks of clusters support, too.

    Args:
        path: the file; it is made if it does not exist, its folder must exist.

    Raises:
        CacheError: if the file cannot be opened, or is not a cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._warned: set[str] = set()
        self._readable = self._writable = True
        self._writing = threading.Lock()
        try:
            with self._connection(LOCK_TIMEOUT_S) as file:
                file.execute(_READ, (b"",))
        except sqlite3.Error as error:
            raise CacheError(
                f"the cache cannot be used: {error}. Expected a cache of this package, "
                "or a new file in an existing folder that may be written. Give another "
                "path to configure(cache=…).",
                location=str(path),
            ) from error

    def read(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The cached values of these keys, as far as they are known."""
        if not self._readable:
            return {}
        try:
            with self._connection(LOCK_TIMEOUT_S) as file:
                rows = {key: file.execute(_READ, (key,)).fetchone() for key in keys}
        except (sqlite3.Error, CacheError) as error:
            self.warn("read", error)
            return {}
        return {k: row[0] for k, row in rows.items() if row and type(row[0]) is bytes}

    def write(self, values: Mapping[bytes, bytes], replace: bool = False) -> None:
        """Writes values.

        Args:
            replace: in place of the stored values; otherwise these stay.
        """
        rows = [(k, v) for k, v in values.items() if len(v) <= MAX_VALUE_BYTES]
        if not rows or not self._writable:
            return
        failed_before = "written" in self._warned
        timeout = SHORT_LOCK_TIMEOUT_S if failed_before else LOCK_TIMEOUT_S
        write = _WRITE.format("REPLACE" if replace else "IGNORE")
        try:
            with self._writing, self._connection(timeout) as file:
                file.execute("BEGIN IMMEDIATE")
                file.executemany(write, rows)
                file.execute("COMMIT")
        except (sqlite3.Error, CacheError) as error:
            self.warn("written", error)

    def warn(self, failed: str, error: Exception) -> None:
        """Warns once that the file cannot be ``"read"`` or ``"written"``."""
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            self._readable = self._writable = False
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            self._writable = False
        if failed not in self._warned:
            self._warned.add(failed)
            logger.warning(
                "the cache %s cannot be %s now (%s). Models are asked instead, and the "
                "run loses nothing.",
                *(self.path, failed, str(error)),
            )

    @contextmanager
    def _connection(self, timeout: float) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=timeout, isolation_level=None)
        with closing(connection) as file:
            file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * MAX_VALUE_BYTES)
            file.execute("PRAGMA trusted_schema = OFF")
            self._prepare(file)
            yield file

    def _prepare(self, file: sqlite3.Connection) -> None:
        """Makes an empty file a cache.

        Raises:
            CacheError: if the file belongs to another program or a newer version.
        """
        if not _pragma(file, "schema_version") and not _pragma(file, "application_id"):
            file.execute("BEGIN IMMEDIATE")
            if not _pragma(file, "schema_version"):  # else another process was faster
                file.execute(_CREATE)
                file.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                file.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            file.execute("COMMIT")
        if _pragma(file, "application_id") != APPLICATION_ID:
            raise CacheError(
                "this file is not a cache, and a recorded run cannot be used as one. "
                "Give another path to configure(cache=…).",
                location=str(self.path),
            )
        if (version := _pragma(file, "user_version")) > FORMAT_VERSION:
            raise CacheError(
                f"this cache has format {version}, expected at most {FORMAT_VERSION}: a "
                "newer version of this package made it. Use that version, or give "
                "another path to configure(cache=…).",
                location=str(self.path),
            )


def _pragma(file: sqlite3.Connection, name: str) -> int:
    return file.execute(f"PRAGMA {name}").fetchone()[0]


@dataclass
class CachedResponse:
    """The right to ask for one response, or the cached one.

    Attributes:
        reply: the cached response; None if the model is to be asked.
        is_unusable: True if the cached response is to be replaced.
        is_final: True once a response is there that can be given again.
    """

    file: CacheFile
    key: bytes
    request: LLMRequest
    reply: Reply | None = None
    is_unusable: bool = False
    is_final: bool = False

    async def store(self, reply: Reply) -> Reply:
        """Caches the model's reply if it can be used.

        Returns:
            The reply. If another process has cached one meanwhile, its text at the
            price of this one, so that all go on from the same answer.
        """
        if not _can_be_cached(self.request, reply):
            return reply
        self.is_final = True
        return await asyncio.to_thread(self._store, reply)

    def _store(self, reply: Reply) -> Reply:
        value = _encoded(reply, isinstance(self.request, ChatRequest))
        self.file.write({self.key: value}, self.is_unusable)
        stored = self.file.read([self.key]).get(self.key, value)
        first = None if stored == value else _decoded(self.file, stored)
        if first is None or not _can_be_cached(self.request, first):
            return reply
        return replace(reply, text=first.text, finish=first.finish, raw=first.raw)


class ResponseCache:
    """Responses of models and vectors of embedders, in a file.

    Args:
        path: see ``CacheFile``.

    Attributes:
        path: as an absolute path.

    Raises:
        CacheError: see ``CacheFile``.
    """

    _of: ClassVar["weakref.WeakValueDictionary[Path, ResponseCache]"] = (
        weakref.WeakValueDictionary()
    )
    _making: ClassVar[Any] = threading.Lock()

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().resolve()
        self.file = CacheFile(self.path)
        self._asking: weakref.WeakValueDictionary[bytes, asyncio.Lock] = (
            weakref.WeakValueDictionary()
        )

    @classmethod
    def of(cls, path: str | Path) -> "ResponseCache":
        """The cache of a file, which all models of this process share.

        Raises:
            CacheError: see ``CacheFile``.
        """
        place = Path(path).expanduser().resolve()
        with cls._making:
            found = cls._of.get(place)
            if found is None or not place.exists():
                found = cls._of[place] = cls(place)
            return found

    @asynccontextmanager
    async def claim(
        self, key: bytes, request: LLMRequest, run: Occurrences | None = None
    ) -> AsyncIterator[CachedResponse]:
        """The cached response; without one, one caller at a time may ask.

        Callers that want the same response wait; then they get it, or ask in turn.

        Args:
            run: of a study, whose equal requests have their own responses.
        """
        number = 0 if run is None else run.take(key, request)
        own_key = key if run is None else run.key(key, request, number)
        is_final = False
        try:
            async with self._asking.setdefault(own_key, asyncio.Lock()):
                cached = await asyncio.to_thread(_read, self.file, own_key, request)
                try:
                    yield cached
                finally:
                    is_final = cached.is_final
        finally:
            if run is not None and not is_final:
                run.give_back(key, request, number)

    def vectors(self, embedder: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The cached vectors of these texts, as far as they are known."""
        keys = {_vector_key(embedder, text): text for text in texts}
        found = self.file.read(keys)
        rows = {k: np.frombuffer(v, "<f4") for k, v in found.items() if len(v) % 4 == 0}
        return {keys[k]: row for k, row in rows.items() if np.isfinite(row).all()}

    def store_vectors(self, embedder: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Caches the vectors of texts."""
        self.file.write(
            {
                _vector_key(embedder, t): v.astype("<f4").tobytes()
                for t, v in vectors.items()
            },
            replace=True,
        )


def _vector_key(embedder: str, text: str) -> bytes:
    name = json.dumps(["vector", embedder, text])
    return hashlib.sha256(name.encode()).digest()


def _read(file: CacheFile, key: bytes, request: LLMRequest) -> CachedResponse:
    """The cached response under a key."""
    cached = CachedResponse(file, key, request)
    value = file.read([key]).get(key)
    if value is not None:
        reply = _decoded(file, value)
        cached.is_final = reply is not None and _can_be_cached(request, reply)
        cached.is_unusable = not cached.is_final
        cached.reply = reply if cached.is_final else None
    return cached


class _Stored(BaseModel):
    """A reply as it stands in a file."""

    text: str | None
    model: str
    finish: str
    raw: Any


def _decoded(file: CacheFile, value: bytes) -> Reply | None:
    """The cached reply; None if it is damaged."""
    try:
        stored = _Stored.model_validate_json(value, strict=True)
        raw = response(stored.raw) if stored.raw else None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        damage = ValueError(f"a response is damaged, {type(error).__name__}")
        file.warn("read", damage)
        return None
    free = Reply(stored.text, stored.model, 0, 0, 0.0, attempts=0, cached=True)
    return replace(free, finish=stored.finish, raw=raw, cached_tokens=0)


def _can_be_cached(request: LLMRequest, reply: Reply) -> bool:
    """True for a complete, usable reply of the model that was asked, not of a fallback.

    It is asked again when a response is read: files come from elsewhere, too.
    """
    try:
        check_end(reply)
    except Unusable:
        return False
    message = _message(reply)
    if isinstance(request, ChatRequest) and message is None:
        return False  # its caller is given the provider's response
    text, calls = (reply.text or "").strip(), getattr(message, "tool_calls", None)
    if reply.model not in ("", request.model) or not (text or calls):
        return False
    if request.accepts is None:
        return bool(calls) or not refuses(text)
    try:
        request.accepts(reply)
    except Unusable:
        return False
    return True


def _message(reply: Reply) -> Any:
    """The message of the provider's response; None without one."""
    choices = getattr(reply.raw, "choices", None)
    return getattr(choices[0], "message", None) if choices else None


def _encoded(reply: Reply, with_response: bool) -> bytes:
    """A reply as JSON, without known secrets."""
    raw = response_data(reply.raw) if with_response else None
    stored = {"text": reply.text, "model": reply.model, "finish": reply.finish}
    return scrub_json(json.dumps(stored | {"raw": raw}).encode())
