"""Limits the CPU time the dashboard may use beside a simulation."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

#: share of the time that may be spent on new steps of another program
CPU_SHARE = 0.04
#: the same beside a simulation of this process; messages to the browser add half as much
SHARE_BESIDE = 0.03
#: longest pause before the next look, in seconds
LONGEST_PAUSE_S = 10.0


class Pace:
    """Limits the share of the time that is spent on showing new steps.

    Work that took some processor time is followed by a rest, ``1 / share - 1`` times as
    long.

    Args:
        share: above 0, at most 1.
    """

    def __init__(self, share: float = CPU_SHARE) -> None:
        self.share = share
        self._free = 0.0  # the end of the rest

    @property
    def left(self) -> float:
        """Seconds until the next look; 0 if it may begin."""
        return max(0.0, self._free - time.monotonic())

    @contextmanager
    def work(self) -> Iterator[None]:
        """Measures the work of this thread."""
        begun = time.thread_time()
        try:
            yield
        finally:
            rest = (time.thread_time() - begun) * (1 / self.share - 1)
            self._free = time.monotonic() + min(rest, LONGEST_PAUSE_S)
