"""Texts of all agents that wait for their embedding, embedded in one call.

An embedder takes many texts at once much faster than a few texts many times. Agents
announce what they will need; the first that needs one of them lets all be embedded.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

#: most texts and vectors that wait; one that is gone is made again when asked for
CAPACITY = 50_000


class EmbeddingPool:
    """Texts by the id of their record, and vectors that nobody has fetched yet."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._texts: dict[str, str] = {}
        self._vectors: dict[str, Any] = {}

    def forked(self) -> None:
        """In a child process: no thread of the parent looks at it here."""
        self._lock = threading.Lock()

    def announce(self, texts: Mapping[str, str]) -> None:
        """These texts may be asked for."""
        with self._lock:
            self._texts.update(texts)
            _bound(self._texts, self._capacity)

    def take(
        self,
        keys: Iterable[str],
        text_of: Callable[[str], str],
        embed: Callable[[Sequence[str]], Any],
    ) -> list[Any]:
        """The vectors of these records, in order; they are not kept here any longer.

        Args:
            text_of: gives the text of one that was not announced.
            embed: gives the vectors of texts, shape (texts, dim).
        """
        wanted = list(keys)
        with self._lock:
            here = self._vectors
            lacking = [k for k in wanted if k not in here and k not in self._texts]
            self._texts.update((key, text_of(key)) for key in lacking)
            if any(key in self._texts for key in wanted):
                here.update(zip(self._texts, embed(tuple(self._texts.values()))))
                self._texts.clear()
            found = [here.pop(key) for key in wanted]
            _bound(here, self._capacity)
        return found


def _bound(kept: dict, capacity: int) -> None:
    """Drops the oldest that are too many."""
    for key in list(islice(kept, max(0, len(kept) - capacity))):
        del kept[key]
