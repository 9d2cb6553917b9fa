"""Answers that hold for many agents, found once.

The first agent to claim a key finds its value; agents that need it meanwhile wait for
that one request instead of sending their own.
"""

import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from mesa_memory.core.requests import SharedAnswers

#: number of newest answers that are kept
MAX_SHARED_ANSWERS = 10_000


class SingleFlight:
    """Values by key, with claims on those being found now."""

    def __init__(self, capacity: int = MAX_SHARED_ANSWERS) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: dict[str, Any] = {}
        self._open: dict[str, Future | None] = {}  # a future once somebody waits

    def copy(self) -> "SingleFlight":
        """A copy with the same values, without claims."""
        twin = SingleFlight(self._capacity)
        with self._lock:
            twin._known.update(self._known)
        return twin

    def claim(self, keys: Iterable[str]) -> SharedAnswers:
        """Sorts keys into known, now ours, and being found by others."""
        claimed = SharedAnswers({}, [], [])
        with self._lock:
            for key in dict.fromkeys(keys):
                if key in self._known:
                    claimed.known[key] = self._known[key]
                elif key in self._open:
                    claimed.others.append(key)
                else:
                    self._open[key] = None
                    claimed.ours.append(key)
        return claimed

    def publish(self, values: Mapping[str, Any]) -> None:
        """Closes claims; a value of None gives the claim back."""
        with self._lock:
            for key, value in values.items():
                if value is not None:
                    self._known[key] = value
            while len(self._known) > self._capacity:
                del self._known[next(iter(self._known))]
            waiting = [(self._open.pop(k, None), v) for k, v in values.items()]
        for future, value in waiting:
            if future is not None:
                future.set_result(value)

    def pending(self, key: str) -> Future:
        """A future of the value that another flow is finding; None if that failed."""
        with self._lock:
            future = self._open.get(key) or Future()
            if key in self._open:
                self._open[key] = future
            else:
                future.set_result(self._known.get(key))
            return future
