"""The cache of a run: the same request is answered once, the same text embedded once.

The key of a response covers everything that the answer depends on, see ``request_key``.
The file holds hashes of requests and texts, and responses without known secrets;
prompts, texts and keys are not in it.
"""

import asyncio
import hashlib
import json
import threading
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import ChatRequest, LLMRequest
from mesa_memory.core.text.redaction import scrub_json
from mesa_memory.core.text.refusals import refuses
from mesa_memory.core.text.replies import Unusable, check_end
from mesa_memory.llm.cache.cache_file import CacheFile
from mesa_memory.llm.cache.request_key import Occurrences
from mesa_memory.llm.doubles.replay import response, response_data


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


def _decoded(file: CacheFile, value: bytes) -> Reply | None:
    """The cached reply; None if it is damaged."""
    try:
        stored = json.loads(value)
        text, model, finish = stored["text"], stored["model"], stored["finish"]
        if not isinstance(text, str | None):
            raise TypeError("text is not a string")
        if not (isinstance(model, str) and isinstance(finish, str)):
            raise TypeError("model or finish is not a string")
        raw = response(stored["raw"]) if stored["raw"] else None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        damage = ValueError(f"a response is damaged, {type(error).__name__}")
        file.warn("read", damage)
        return None
    free = Reply(text, model, 0, 0, 0.0, attempts=0, cached_tokens=0, cached=True)
    return replace(free, finish=finish, raw=raw)


def _is_usable(request: LLMRequest, reply: Reply) -> bool:
    """True unless the check of the request refuses the reply."""
    if request.accepts is None:
        return True
    try:
        request.accepts(reply)
    except Unusable:
        return False
    return True


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
    return _is_usable(request, reply)


def _message(reply: Reply) -> Any:
    """The message of the provider's response; None without one."""
    choices = getattr(reply.raw, "choices", None)
    return getattr(choices[0], "message", None) if choices else None


def _encoded(reply: Reply, with_response: bool) -> bytes:
    """A reply as JSON, without known secrets."""
    stored = {
        "text": reply.text,
        "model": reply.model,
        "finish": reply.finish,
        "raw": response_data(reply.raw) if with_response else None,
    }
    return scrub_json(json.dumps(stored).encode())
