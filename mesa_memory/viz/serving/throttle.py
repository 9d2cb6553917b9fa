"""Limits the CPU time the dashboard may use beside a simulation."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: share of the time that may be spent on new steps of another program
CPU_SHARE = 0.04
#: the same beside a simulation of this process, which then stands still; messages to
#: the browser add half as much
SHARE_BESIDE = 0.03
#: longest pause before the next look, in seconds
LONGEST_PAUSE_S = 10.0


class Pace:
    """Limits the share of the time that is spent on showing new steps.

    Work that took some processor time is followed by a rest, ``1 / share - 1`` times as
    long. Work that was done while the simulation rested itself needs none.

    Args:
        share: above 0, at most 1.
        resting: gives the step that a simulation of this process has finished; None
            while it steps, or if it is unknown.
        clock: seconds.
        spent: processor seconds of this thread.
    """

    def __init__(
        self,
        share: float = CPU_SHARE,
        resting: Callable[[], Any] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self.share = share
        self._resting, self._clock, self._spent = resting, clock, spent
        self._free = clock()
        self._lock, self._inside = threading.Lock(), threading.local()

    @property
    def left(self) -> float:
        """Seconds until the next look; 0 if it may begin."""
        return max(0.0, self._free - self._clock())

    @contextmanager
    def work(self) -> Iterator[None]:
        """Measures work; nested work is part of the outer one."""
        done = self.begin()
        outermost, self._inside.now = not self._is_inside, True
        try:
            yield
        finally:
            if outermost:
                self._inside.now = False
                done()

    def begin(self) -> Callable[[], None]:
        """Begins work; the same thread calls the result to end it."""
        place, begun = self._resting(), self._spent()

        def done() -> None:
            if self._is_inside:
                return
            rested = place is not None and self._resting() == place
            self._rest(0.0 if rested else self._spent() - begun)

        return done

    @property
    def _is_inside(self) -> bool:
        return getattr(self._inside, "now", False)

    def _rest(self, seconds: float) -> None:
        with self._lock:
            now = self._clock()
            # A simulation that rests itself has no need of the rest of another work.
            before = max(now, self._free) if seconds else now
            until = before + seconds * (1 / self.share - 1)
            self._free = min(until, now + LONGEST_PAUSE_S)
