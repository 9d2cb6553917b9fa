"""Cached answers of language models: the same request is answered once.

The file is shared by runs, arms of an experiment and processes. The key of an answer
covers all that the answer depends on, see ``answer_key``.
The file holds hashes of requests, and replies without known secrets; neither prompts nor
keys are in it.
"""

import asyncio
import json
import sqlite3
import threading
import weakref
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from mesa_memory.core.at_fork import at_fork
from mesa_memory.core.requests import ChatRequest, LLMRequest, Reply
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.text.redaction import scrub_json
from mesa_memory.core.text.refusals import refuses
from mesa_memory.core.text.replies import Unusable, check_end
from mesa_memory.errors import CacheError
from mesa_memory.llm.cache.answer_file import (
    PATIENCE_MS,
    AnswerFile,
    damaged,
    forbidden,
)
from mesa_memory.llm.cache.answer_key import Occurrences
from mesa_memory.llm.doubles.replay import response, response_data

logger = logger_of(__name__)

#: milliseconds to wait for another process, once one did not let go
HASTY_MS = 50
#: longest kept reply, in characters
LONGEST = 2**24
#: most answers that are kept in memory because they could not be written yet
WAITING = 1000


@dataclass
class Claim:
    """The right to ask for one answer, or what is kept of it.

    Attributes:
        reply: the kept one; None if the model is to be asked.
        spoilt: there is one, and nobody can use it.
        lasting: True once there is an answer that can be given again.
    """

    cache: "AnswerCache"
    key: bytes
    request: LLMRequest
    reply: Reply | None = None
    spoilt: bool = False
    lasting: bool = False

    async def keep(self, reply: Reply) -> Reply:
        """Keeps what the model has answered, if it can be used.

        Returns:
            The reply. If another process has kept one meanwhile: what that says, at the
            price of this one, so that all go on from the same answer.
        """
        if not _lasts(self.request, reply):
            return reply
        self.lasting = True
        text = _text(reply, isinstance(self.request, ChatRequest))
        put = self.cache.put
        before = await asyncio.to_thread(put, self.key, text, self.spoilt)
        if before is None or not usable(self.request, before):
            return reply
        return replace(reply, text=before.text, finish=before.finish, raw=before.raw)


class AnswerCache:
    """Replies by what was asked, in a file that several processes may share.

    An answer that cannot be read or written is told once, and the model is asked.

    Args:
        path: the file, made if it is not there; its folder must be.

    Attributes:
        path: as an absolute path.

    Raises:
        CacheError: if the file cannot be opened, or is something else.
    """

    _of: ClassVar["weakref.WeakValueDictionary[Path, AnswerCache]"] = (
        weakref.WeakValueDictionary()
    )
    _making: ClassVar[Any] = threading.Lock()

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().resolve()
        self._lock = threading.Lock()
        self._asking: dict[bytes, Future[None]] = {}
        self._waiting: dict[bytes, str] = {}  # could not be written yet
        self._again = 0  # number of waiting answers at which writing is tried again
        self._told: set[str] = set()
        self._damaged = False
        self._file = AnswerFile(self.path)

    @classmethod
    def of(cls, path: str | Path) -> "AnswerCache":
        """The cache of a file, which all models of this process share.

        Raises:
            CacheError: if the file cannot be used.
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
    ) -> AsyncIterator[Claim]:
        """What is kept for a request; while nothing is, one at a time may ask.

        Those who want the same meanwhile wait, and get that answer, or ask in their turn.

        Args:
            run: of a study, whose equal requests have answers of their own.
        """
        if run is None:
            async with self._claim(key, request) as claim:
                yield claim
            return
        number, lasting = run.take(key, request), False
        try:
            async with self._claim(run.key(key, request, number), request) as claim:
                try:
                    yield claim
                finally:
                    lasting = claim.lasting
        finally:
            if not lasting:
                run.give_back(key, request, number)

    @asynccontextmanager
    async def _claim(self, key: bytes, request: LLMRequest) -> AsyncIterator[Claim]:
        ended = await self._turn(key)
        try:
            text = self._read(key)
            kept = None if text is None else self._restored(text)
            if kept is not None and usable(request, kept):
                yield Claim(self, key, request, kept, lasting=True)
            else:
                yield Claim(self, key, request, spoilt=text is not None)
        finally:
            with self._lock:
                self._asking.pop(key, None)
            ended.set_result(None)

    def put(self, key: bytes, text: str, instead: bool = False) -> Reply | None:
        """Keeps a reply, and those that had to wait.

        Args:
            text: the reply as JSON.
            instead: in place of one that is there and is no good.

        Returns:
            The reply that is there already, if there is one.
        """
        with self._lock:
            if self._damaged or not self._file.writable or len(text) > LONGEST:
                return None
            rows = [*self._waiting.items(), (key, text)]
            if len(rows) < self._again:
                self._waiting[key] = text
                return None
        patience = HASTY_MS if len(rows) > 1 else PATIENCE_MS
        try:
            new = self._file.write(rows, instead, patience)
        except (sqlite3.Error, CacheError) as error:
            self._fail("written", error)
            with self._lock:
                if len(self._waiting) < WAITING:
                    self._waiting[key] = text
                self._again = min(2 * len(rows), WAITING)
            return None
        with self._lock:
            for written, _ in rows:
                self._waiting.pop(written, None)
            self._again = 0
        if new or (there := self._read(key)) is None:
            return None
        return self._restored(there)

    async def _turn(self, key: bytes) -> "Future[None]":
        """Waits until nobody else here asks the same."""
        while True:
            with self._lock:
                other = self._asking.get(key)
                if other is None:
                    mine: Future[None] = Future()
                    # Running, it cannot be cancelled by one of those who wait for it.
                    mine.set_running_or_notify_cancel()
                    self._asking[key] = mine
                    return mine
            await asyncio.wrap_future(other)

    def _read(self, key: bytes) -> str | None:
        """What is kept under a key, as JSON."""
        with self._lock:
            if key in self._waiting:
                return self._waiting[key]
        if self._damaged:
            return None
        try:
            return self._file.read(key)
        except (sqlite3.Error, CacheError) as error:
            self._fail("read", error)
            return None

    def _restored(self, text: str) -> Reply | None:
        """The reply, as one that was given again; None if it is damaged."""
        try:
            kept = json.loads(text)
            raw = kept["raw"] and response(kept["raw"])
            said = {name: kept[name] for name in ("text", "model", "finish")}
            _check_types(**said)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            self._fail("read", ValueError(f"one is damaged, {type(error).__name__}"))
            return None
        return Reply(**said, raw=raw).as_kept()

    def _fail(self, what: str, error: Exception) -> None:
        """Tells once that the file cannot be read or written."""
        self._damaged = self._damaged or damaged(error)
        self._file.writable = self._file.writable and not forbidden(error)
        if what not in self._told:
            self._told.add(what)
            logger.warning(
                "the kept answers in %s cannot be %s now (%s). The models are asked, "
                "and the run loses nothing.",
                self.path,
                what,
                str(error),
            )

    def forked(self) -> None:
        """In a child process: the parent's claims are nobody's here."""
        self._lock, self._asking = threading.Lock(), {}


def usable(request: LLMRequest, reply: Reply) -> bool:
    """True if whoever asked can use a reply, as far as that can be told."""
    if request.accepts is None:
        return True
    try:
        request.accepts(reply)
    except Unusable:
        return False
    return True


def _lasts(request: LLMRequest, reply: Reply) -> bool:
    """True for a reply that may be given again: whole, good, of the model asked."""
    try:
        check_end(reply)
    except Unusable:
        return False
    if reply.model not in ("", request.model):
        return False  # a fallback has answered
    text, calls = (reply.text or "").strip(), _calls(reply)
    if not (text or calls):
        return False
    if request.accepts is None:
        return bool(calls) or not refuses(text)
    return usable(request, reply)


def _calls(reply: Reply) -> Any:
    """The tools that a reply calls."""
    choices = getattr(reply.raw, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    return getattr(message, "tool_calls", None)


def _text(reply: Reply, whole: bool) -> str:
    """A reply as JSON, without known secrets; the provider's response if it is wanted."""
    kept = {
        "text": reply.text,
        "model": reply.model,
        "finish": reply.finish,
        "raw": response_data(reply.raw) if whole else None,
    }
    return scrub_json(json.dumps(kept).encode()).decode()


def _check_types(text: Any, model: Any, finish: Any) -> None:
    """Raises ``TypeError`` for what no reply has."""
    fits = isinstance(text, str | None) and isinstance(model, str)
    if not fits or not isinstance(finish, str):
        raise TypeError("a field of a reply is of the wrong type")


def _after_fork_in_child() -> None:
    AnswerCache._making = threading.Lock()
    for cache in list(AnswerCache._of.values()):
        cache.forked()


at_fork(after_in_child=_after_fork_in_child)
