"""The lock of a memory: one thread reads or changes it at a time."""

import threading
from typing import Any


class MemoryLock:
    """Held, no other thread changes the memory, and its work is not awaited.

    Args:
        lock: the memory's, reentrant.

    Attributes:
        thread: the holder; None if the lock is free.
    """

    __slots__ = ("_depth", "_lock", "thread")

    def __init__(self, lock: Any) -> None:
        self._lock, self._depth = lock, 0
        self.thread: int | None = None

    @property
    def here(self) -> bool:
        """True in the thread that holds the lock."""
        return self.thread == threading.get_ident()

    def __enter__(self) -> None:
        """Waits for other threads; the holder may take it again."""
        self._lock.acquire()
        self._depth += 1
        self.thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        """Releases the lock."""
        self._depth -= 1
        if not self._depth:
            self.thread = None
        self._lock.release()
