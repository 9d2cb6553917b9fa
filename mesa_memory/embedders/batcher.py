"""Texts of several agents, embedded in one call: much faster than many calls.

``EmbeddingBatcher`` joins requests to a remote embedder that come at the same moment.
``EmbeddingPool`` joins texts of several agents for a local embedder.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any
from weakref import ref

import numpy as np

#: seconds that the first of a batch waits for others; a request over the network takes
#: many times as long
WINDOW_S = 0.005

#: most texts and vectors that wait; one that is gone is made again when asked for
MAX_POOLED_TEXTS = 50_000

#: gives the vectors of texts, shape (texts, dim), blocking
type Embed = Callable[[Sequence[str]], Any]


class EmbeddingBatcher:
    """Requests of the background loop that came within the same short time.

    Used in that loop alone, so it needs no lock.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[tuple[str, ...], asyncio.Future]] = []

    def forked(self) -> None:
        """In a child process: requests of the parent's agents are not waited for."""
        self._waiting = []

    def add(self, texts: tuple[str, ...], embed: Embed) -> asyncio.Future:
        """A future of the texts' vectors."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.append((texts, future))
        if len(self._waiting) == 1:
            loop.call_later(WINDOW_S, self._send, loop, embed)
        return future

    def _send(self, loop: asyncio.AbstractEventLoop, embed: Embed) -> None:
        waiting, self._waiting = self._waiting, []
        texts = tuple(dict.fromkeys(text for given, _ in waiting for text in given))
        sent = loop.run_in_executor(None, embed, texts)
        sent.add_done_callback(partial(_hand_out, loop, waiting, texts, embed))


def _hand_out(
    loop: asyncio.AbstractEventLoop,
    waiting: Sequence[tuple[tuple[str, ...], asyncio.Future]],
    texts: Sequence[str],
    embed: Embed,
    sent: asyncio.Future,
) -> None:
    """Gives each caller its vectors; a failed batch is sent again for each alone."""
    error = sent.exception()
    if error is not None and len(waiting) > 1 and not getattr(error, "passing", False):
        for one in waiting:
            alone = loop.run_in_executor(None, embed, one[0])
            alone.add_done_callback(partial(_hand_out, loop, [one], one[0], embed))
        return
    of = {} if error else dict(zip(texts, sent.result()))
    for wanted, future in waiting:
        if future.done():  # nobody wants it any more
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(np.stack([of[text] for text in wanted]))


class EmbeddingPool:
    """Records of all agents that wait for their embedding, and vectors made already.

    Agents announce which records they will need; the first that needs one of them lets
    all be embedded. Their texts are made then, as many are never needed.

    Attributes:
        announced: id of a record, what makes its text (with ``body_of``) and its entry;
            both are held weakly, as a memory may forget it, and its agent die.
    """

    def __init__(self, capacity: int = MAX_POOLED_TEXTS) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self.announced: deque[tuple[str, ref[Any], ref[Any]]] = deque(maxlen=capacity)
        self._texts: dict[str, str] = {}
        self._vectors: dict[str, Any] = {}

    def forked(self) -> None:
        """In a child process: no thread of the parent holds the lock."""
        self._lock = threading.Lock()

    def take(
        self, keys: Iterable[str], text_of: Callable[[str], str], embed: Embed
    ) -> list[Any]:
        """The vectors of these records, in order; they are not kept here any longer.

        Args:
            text_of: gives the text of one that was not announced.
            embed: gives the vectors of texts.
        """
        wanted = list(keys)
        with self._lock:
            here = self._vectors
            if any(key not in here for key in wanted):
                self._make_texts()
            lacking = [k for k in wanted if k not in here and k not in self._texts]
            self._texts.update((key, text_of(key)) for key in lacking)
            if any(key in self._texts for key in wanted):
                here.update(zip(self._texts, embed(tuple(self._texts.values()))))
                self._texts.clear()
            found = [here.pop(key) for key in wanted]
            _bound(here, self._capacity)
        return found

    def _make_texts(self) -> None:
        """The announced texts that are still remembered."""
        while self.announced:
            key, index_of, entry_of = self.announced.popleft()
            index, entry = index_of(), entry_of()
            if index is not None and entry is not None:
                self._texts[key] = index.body_of(entry)


def _bound(kept: dict, capacity: int) -> None:
    """Drops the oldest that are too many."""
    for key in list(islice(kept, max(0, len(kept) - capacity))):
        del kept[key]
