"""Writes a run's batches in a thread of its own, so that the simulation goes on."""

import threading
from collections import deque
from collections.abc import Callable

from mesa_memory.errors import StoreError
from mesa_memory.stores.base import Batch
from mesa_memory.stores.sql import Store

#: ``put`` waits while this number of batches is unwritten
MAX_BEHIND = 64
#: seconds between two transactions while nobody waits: one costs much the same for
#: several steps
REST_S = 0.05

#: a batch, or what makes it in the writer's thread at the time of its writing
type Waiting = Batch | Callable[[], Batch]


class Writer:
    """A queue of batches of one run, and the thread that writes them in order.

    What waits is written in one transaction, and after each the thread rests for
    ``REST_S``, unless somebody waits for it. A batch that cannot be written stays at the
    head of the queue with those behind it. Its error is raised by the next ``put`` or
    ``flush``; from then on the thread waits until ``flush`` is called again, which tries
    once more.

    Args:
        store: open for writing; it stays open.
        run: id of the run.
    """

    def __init__(self, store: Store, run: int) -> None:
        self.store, self.run = store, run
        self._batches: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._closing = False
        self._hurry = threading.Event()  # ends a rest
        self._thread = threading.Thread(
            target=self._work, name="mesa-memory-store", daemon=True
        )
        self._thread.start()

    @property
    def behind(self) -> int:
        """The number of batches that are not written yet."""
        return len(self._batches)

    def note(self, batch: Batch) -> None:
        """Queues a batch, to be written without a rest; neither waits nor raises.

        What stopped the writing is raised by the next ``put`` or ``flush``.
        """
        with self._changed:
            if not self._closing:
                self._batches.append(batch)
                self._hurry.set()
                self._changed.notify_all()

    def put(self, batch: Waiting) -> None:
        """Queues a batch; waits only if ``MAX_BEHIND`` are unwritten.

        Raises:
            StoreError: the one that stopped the writing; the batch was not taken.
            ValueError: after ``close``.
        """
        with self._changed:
            if self._closing:
                raise ValueError("the writer is closed: make a new one for more")
            while len(self._batches) >= MAX_BEHIND and self._error is None:
                self._hurry.set()
                self._changed.wait()
            self._raise()
            self._batches.append(batch)
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until everything is written; retries failed batches.

        Raises:
            StoreError: if it cannot be written; all that was not written is kept.
        """
        with self._changed:
            if not self._closing:
                self._error = None
                self._hurry.set()
                self._changed.notify_all()
            while self._batches and self._error is None:
                self._changed.wait()
            self._raise()

    def close(self) -> None:
        """Writes the rest and ends the thread; may be called again.

        Raises:
            StoreError: if it cannot be written; the thread has ended all the same.
        """
        try:
            self.flush()
        finally:
            with self._changed:
                self._closing = True
                self._hurry.set()
                self._changed.notify_all()
            self._thread.join()

    def is_current_thread(self) -> bool:
        """True in the thread that writes."""
        return threading.current_thread() is self._thread

    def _raise(self) -> None:
        """Raises the thread's error; a new object each time, with the same text."""
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._batches or self._error is not None:
                    if self._closing:
                        return
                    self._changed.wait()
                group = list(self._batches)
                self._hurry.clear()
            error: BaseException | None = None
            written = 0
            try:
                written = self._write(group)
            except BaseException as raised:  # waiting callers must learn of it
                error = raised
            with self._changed:
                for _ in range(written):
                    self._batches.popleft()
                self._error = error
                self._changed.notify_all()
            if written == len(group):
                self._hurry.wait(REST_S)

    def _write(self, group: list[Waiting]) -> int:
        """Writes all of them, or the first alone; how many."""
        try:
            self.store.write(self.run, *_made(group))
        except StoreError:
            if len(group) == 1:
                raise
            # One of them cannot be written; those before it can.
            self.store.write(self.run, *_made(group[:1]))
            return 1
        return len(group)


def _made(group: list[Waiting]) -> list[Batch]:
    return [b if isinstance(b, Batch) else b() for b in group]
