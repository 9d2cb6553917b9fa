"""The entries of a memory stream."""

from collections import deque
from collections.abc import Iterable


class Stream(deque):
    """Entries of a memory stream; forgetting is by score, so none fall out by age."""

    def __init__(self, entries: Iterable = (), capacity: int = 200) -> None:
        super().__init__(entries)
        self.capacity = capacity

    @property
    def maxlen(self) -> int:
        """The capacity; events that wait for their grade may exceed it."""
        return self.capacity
