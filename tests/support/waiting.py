"""Waiting for what another thread or process does, however busy the machine is."""

import time
from collections.abc import Callable
from typing import Any

#: seconds after which a test hangs; nothing that happens at all takes so long
HUNG = 300.0


def until(condition: Callable[[], Any], told: object = "it did not happen") -> Any:
    """Waits for a condition; gives the first true value of it.

    Raises:
        AssertionError: with what was ``told`` (called, if it can be), when nothing has
            happened for ``HUNG`` seconds.
    """
    end = time.monotonic() + HUNG
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(told() if callable(told) else told)
        time.sleep(0.005)
    return found
