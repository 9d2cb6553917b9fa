"""A thread that looks at a memory, or changes it, and nobody else."""

import threading
from typing import Any


class Alone:
    """Meanwhile no other thread changes the memory; none of its work is awaited.

    Args:
        lock: the memory's, reentrant.

    Attributes:
        thread: the one that is alone with the memory; None if there is none.
    """

    __slots__ = ("_depth", "_lock", "thread")

    def __init__(self, lock: Any) -> None:
        self._lock, self._depth = lock, 0
        self.thread: int | None = None

    @property
    def here(self) -> bool:
        """True in the thread that is alone with the memory."""
        return self.thread == threading.get_ident()

    def __enter__(self) -> None:
        """Waits until no other thread is at it; again in the same thread goes on."""
        self._lock.acquire()
        self._depth += 1
        self.thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        """Lets the others go on."""
        self._depth -= 1
        if not self._depth:
            self.thread = None
        self._lock.release()
