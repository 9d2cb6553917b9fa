"""Writes a run's batches in a thread of its own, so that the simulation goes on."""

import math
import threading
import time
from collections import deque
from typing import Protocol

from mesa_memory.core.validate import checked_int
from mesa_memory.errors import StoreError
from mesa_memory.stores.base import Batch
from mesa_memory.stores.sql import Store

#: number of waiting batches at which they are written: all of them go into one
#: transaction, as neighbours change the same pages, and each page is written once
GROUP_BATCHES = 32
#: seconds between two transactions, as long as there is little to write
FLUSH_INTERVAL_S = 0.25
#: seconds that a batch waits at most for a step that has a checkpoint
CHECKPOINT_DELAY_S = 0.3


class Waiting(Protocol):
    """A batch that is made in the writer's thread, at the time of its writing.

    Attributes:
        resumable: a run can go on from its end. What comes before such a one waits for
            it, so that a run that is killed has a checkpoint of its last step.
    """

    @property
    def resumable(self) -> bool: ...  # noqa: D102 - described by the class

    def batch(self) -> Batch:
        """The batch; the same each time."""


class Writer:
    """A queue of batches of one run, and the thread that writes them in order.

    A batch that cannot be written stays at the head of the queue with those behind it.
    Its error is raised by the next ``put`` or ``flush``; from then on the thread waits
    until ``flush`` is called again, which tries once more.

    Args:
        store: open for writing; it stays open.
        run: id of the run.
        max_behind: ``put`` waits while this number of batches is unwritten.
    """

    def __init__(self, store: Store, run: int, max_behind: int = 64) -> None:
        self.store, self.run = store, run
        self.max_behind = checked_int("max_behind", max_behind)
        self._batches: deque[Batch | Waiting] = deque()
        self._taken = 0  # how many of them are being written
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._closing = False
        self._hurry = 0  # how many wait for everything to be written
        self._urgent = False  # True if something waits that is to be written at once
        self._since = 0.0  # when the oldest that waits was put
        self._written = -FLUSH_INTERVAL_S
        self._thread: threading.Thread | None = None

    @property
    def behind(self) -> int:
        """The number of batches that are not written yet."""
        return len(self._batches)

    @property
    def eager(self) -> bool:
        """True if a batch is going to be written as soon as it is put."""
        waiting = len(self._batches) - self._taken
        early = self._written + FLUSH_INTERVAL_S > time.monotonic()
        return waiting >= GROUP_BATCHES - 1 or not (self._taken or early)

    def note(self, batch: Batch) -> None:
        """Queues a batch that is to be written at once; neither waits nor raises.

        What stopped the writing is raised by the next ``put`` or ``flush``.
        """
        with self._changed:
            if not self._closing:
                self._start()
                self._batches.append(batch)
                self._urgent = True
                self._changed.notify_all()

    def put(self, batch: Batch | Waiting) -> None:
        """Queues a batch; waits only if ``max_behind`` are unwritten.

        Raises:
            StoreError: the one that stopped the writing; the batch was not taken.
            ValueError: after ``close``.
        """
        with self._changed:
            if self._closing:
                raise ValueError("the writer is closed: make a new one for more")
            started = self._start()
            while len(self._batches) >= self.max_behind and self._error is None:
                if started:
                    self._changed.wait()
                else:
                    self._write_here()
            self._raise()
            if len(self._batches) == self._taken:
                self._since = time.monotonic()
            self._batches.append(batch)
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until everything is written; retries failed batches.

        Raises:
            StoreError: if it cannot be written; all that was not written is kept.
        """
        with self._changed:
            self._error = None
            started = not self._batches or self._start()
            self._hurry += 1
            self._changed.notify_all()
            while self._batches and self._error is None:
                if started:
                    self._changed.wait()
                else:
                    self._write_here()
            self._hurry -= 1
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
                self._changed.notify_all()
                thread, self._thread = self._thread, None
            if thread is not None:
                thread.join()

    def is_current_thread(self) -> bool:
        """True in the thread that writes."""
        return threading.current_thread() is self._thread

    def _raise(self) -> None:
        """Raises the thread's error; a new object each time, with the same text."""
        if self._error is not None:
            raise self._error

    def _start(self) -> bool:
        """True if a thread writes; at the end of a program none can be started."""
        if self._thread is None or not self._thread.is_alive():
            self._closing = False
            thread = threading.Thread(
                target=self._work, name="mesa-memory-store", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def _write_here(self) -> None:
        """Writes the waiting batches in place of the thread; under the lock."""
        group = list(self._batches)
        try:
            for _ in range(self._write(group)):
                self._batches.popleft()
        except BaseException as error:  # waiting callers must learn of it
            self._error = error

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._ready():
                    if self._closing:
                        return
                    due = self._due()
                    wait = None if due == math.inf else due - time.monotonic()
                    self._changed.wait(wait)
                group = list(self._batches)
                self._taken, self._urgent = len(group), False
            error: BaseException | None = None
            written = 0
            try:
                written = self._write(group)
            except BaseException as raised:  # waiting callers must learn of it
                error = raised
            with self._changed:
                for _ in range(written):
                    self._batches.popleft()
                self._error, self._taken = error, 0
                self._written = time.monotonic()
                self._changed.notify_all()

    def _ready(self) -> bool:
        """True if there is something to write now."""
        if not self._batches or self._error is not None:
            return False
        return self._hurry > 0 or self._due() <= time.monotonic()

    def _due(self) -> float:
        """The time of the next write; infinity waits for a call.

        A transaction costs much the same for one step as for several.
        """
        soon = self._written + FLUSH_INTERVAL_S
        if self._error is not None:
            return math.inf
        if not self._batches:
            return soon if soon > time.monotonic() else math.inf
        if self._urgent or len(self._batches) >= GROUP_BATCHES:
            return 0.0
        newest = self._batches[-1]
        if isinstance(newest, Batch) or newest.resumable:
            return soon
        return self._since + CHECKPOINT_DELAY_S

    def _write(self, group: list[Batch | Waiting]) -> int:
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


def _made(group: list[Batch | Waiting]) -> list[Batch]:
    return [b if isinstance(b, Batch) else b.batch() for b in group]
