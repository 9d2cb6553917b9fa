"""The vectors of a run: asked for together, and taken from a recorded run."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mesa_memory.embedders.base import vectors_by

#: seconds that the first of a batch waits for others; a request over the network takes
#: many times as long
WINDOW_S = 0.005

#: gives the vectors of texts, shape (texts, dim), blocking
type Embed = Callable[[Sequence[str]], Any]


class EmbeddingBatcher:
    """Requests of the background loop that came within the same short time.

    Used in that loop alone, so it needs no lock.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[tuple[str, ...], asyncio.Future]] = []

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


class Vectors:
    """Vectors of texts: from a recorded run if they are there, else of an embedder.

    Attributes:
        known: the ``RecordedVectors`` of the run that is resumed or replayed; None in a new
            run.
    """

    def __init__(self, known: Any = None) -> None:
        self.known = known

    def embed(
        self, embedder: Any, texts: Sequence[str], recorder: Any, cache: Any = None
    ) -> np.ndarray:
        """The vectors of texts, float32 of shape (texts, dim).

        Args:
            recorder: records vectors that its run does not have; may be None.
            cache: a ``ResponseCache``, asked before the embedder; None asks the embedder.

        Raises:
            EmbedderError: of the embedder.
            ReplayMismatch: if a replayed run has not got them all.
            StoreError: if the recorded run cannot be read.
        """
        name, known = str(embedder.name), self.known
        wanted = list(dict.fromkeys(texts))
        found = dict(known.find(name, wanted)) if known else {}
        missing = [text for text in wanted if text not in found]
        if missing and known is not None and known.complete:
            raise known.missing(name, missing)
        new = _made(embedder, missing, cache)
        if recorder is not None:
            recorder.vectors(name, found | new)
        return np.stack([found[t] if t in found else new[t] for t in texts])


def _made(embedder: Any, texts: Sequence[str], cache: Any) -> dict[str, np.ndarray]:
    """Vectors from the cache, or of the embedder."""
    if not texts:
        return {}
    if cache is None:
        return dict(zip(texts, vectors_by(embedder, texts)))
    found = cache.vectors(str(embedder.name), texts)
    if missing := [text for text in texts if text not in found]:
        made = dict(zip(missing, vectors_by(embedder, missing)))
        cache.store_vectors(str(embedder.name), made)
        found |= made
    if len({len(vector) for vector in found.values()}) > 1:
        # Another model of the same name made the cached vectors.
        found = dict(zip(texts, vectors_by(embedder, texts)))
        cache.store_vectors(str(embedder.name), found)
    return found
