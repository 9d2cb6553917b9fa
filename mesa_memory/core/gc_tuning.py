"""How often Python looks for garbage while there is a model, or a run is recorded.

Its collector starts whenever some hundred more objects were made than freed. What a step
remembers, and records that wait for the writer, look like that: it would go through them
and through all libraries again and again, and find nothing. Reference counts free nearly
everything here without it. It does still look, so models that are done with are freed:
150 of them, one after the other, took 57 MB more at most.
"""

import gc
import threading
import time
import weakref
from typing import Any

from mesa_memory.core.at_fork import at_fork

#: number of new objects after which garbage is collected; it takes about 10 ms
COLLECT_EVERY = 100_000
#: longest wait, in seconds, for another thread that collects garbage
OTHERS_S = 10.0


class GarbageCollector:
    """Python's collector, and how many want it to look less."""

    def __init__(self) -> None:
        self.renew_lock()
        self._wanted_by = 0
        self._before: tuple[int, int, int] | None = None
        self._alive: weakref.WeakSet[Any] = weakref.WeakSet()

    def renew_lock(self) -> None:
        """In a child process, somebody may have held it who did not come along."""
        # Reentrant: a garbage collection may end a model's life at any time.
        self._lock = threading.RLock()

    def look_less_for(self, model: Any | None) -> None:
        """Until the model is gone, it looks less often; again changes nothing.

        Taking it back after each step would have it look at once at all that the step
        has left.
        """
        if model is not None and model not in self._alive:
            self._alive.add(model)
            self.look_less()
            weakref.finalize(model, self.look_as_before).atexit = False

    def look_less(self) -> None:
        """Until ``look_as_before``, which has to follow, it looks less often.

        One that is off, or looks even less often, stays so.
        """
        with self._lock:
            self._wanted_by += 1
            first, second, third = gc.get_threshold()
            if self._before is None and 0 < first < COLLECT_EVERY:
                self._before = (first, second, third)
                gc.set_threshold(COLLECT_EVERY, second, third)

    def look_as_before(self) -> None:
        """Takes back one ``look_less``, unless somebody else has set it since."""
        with self._lock:
            self._wanted_by -= 1
            if self._wanted_by or self._before is None:
                return
            if gc.get_threshold()[0] == COLLECT_EVERY:  # nobody else has changed it
                gc.set_threshold(*self._before)
            self._before = None

    def collect(self) -> None:
        """Collects all garbage there is, waiting for a thread that is at it already.

        Python's own function returns at once then, and has collected nothing.
        """
        until = time.monotonic() + OTHERS_S
        gone = _garbage()
        gc.collect()
        while gone() is not None and time.monotonic() < until:
            time.sleep(0.01)
            gc.collect()


class _Circle:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def _garbage() -> weakref.ref:
    return weakref.ref(_Circle())


#: that of this process
collector = GarbageCollector()
at_fork(after_in_child=collector.renew_lock)
