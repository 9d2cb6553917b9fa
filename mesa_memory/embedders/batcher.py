"""Joins requests to a remote embedder that come at the same moment."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

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
