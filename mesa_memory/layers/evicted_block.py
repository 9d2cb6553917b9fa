"""Evicted entries that requests with a cached prefix still show.

A window evicts one step after the other, so the text of its recent steps begins
anew in each step, and no provider can read its beginning from a cache. A laid-out
request (see ``MemoryReads.cache_layout``) evicts steps in blocks: those whose numbers,
divided by the size of a block, are the same. Until the whole block has left the window,
its steps are shown word for word, at most a block less one more than the window holds.
"""

from collections.abc import Sequence
from typing import Any

from mesa_memory.core import render


class EvictedBlock:
    """The entries of the block that a window has evicted in part, oldest first.

    Attributes:
        entries: as they were in the window.
    """

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._next: Any = None  # the entry that follows them in the window

    def of(self, held: Sequence[Any], block: int) -> list[Any]:
        """The entries before those held, as far as they are of the same block.

        Args:
            held: the window's entries, oldest first.
            block: how many steps there are in a block.
        """
        if not held or held[0] is not self._next:  # a user has changed the window
            return []
        first = block_of(held[0].step, block)
        same = [e for e in self.entries if block_of(e.step, block) == first]
        return same[max(0, len(same) - (block - 1)) :]

    def add(self, entry: Any, held: Sequence[Any], block: int) -> None:
        """Takes up the oldest entry of a window, which evicts it.

        Args:
            held: what the window still holds.
            block: as in ``of``; 1 keeps nothing.
        """
        if entry is not self._next:
            self.entries.clear()
        self.entries.append(entry)
        self.follow(held)
        self.entries = self.of(held, block)

    def follow(self, held: Sequence[Any]) -> None:
        """The entries are followed by these."""
        self._next = held[0] if held else None

    def clear(self) -> None:
        """Forgets them."""
        self.entries, self._next = [], None


def block_of(step: Any, block: int) -> int:
    """The number of the block that a step belongs to; of no step, that of step 0."""
    return int((step or 0) // block)


def beyond(texts: Sequence[tuple[Any, str]], limit: int, block: int) -> int:
    """The number of oldest texts to leave out so that the others fit a limit.

    Args:
        texts: (step, text), oldest first; those of one block leave together, but at
            least the newest stays.
    """
    left_out = render.beyond([text for _, text in texts], limit)
    while block > 1 and 0 < left_out < len(texts) - 1:
        before, after = texts[left_out - 1][0], texts[left_out][0]
        if block_of(before, block) != block_of(after, block):
            break
        left_out += 1
    return left_out
