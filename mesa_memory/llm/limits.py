"""Limits the number of requests under way to the number that the server accepts.

Additive increase and multiplicative decrease (Chiu and Jain 1989), as in TCP: until the
first refusal each answer to a full load lets one more request through, later each round
trip of them does. A refusal (429, 503, 529) or an answer that does not come in time takes
a tenth away once in a round trip, and leaves at most the requests that the server still
works on. The refused limit is remembered: the load stays below it, and tries it again
only after many answers.
"""

import asyncio
import heapq
import itertools
import math
import time
from typing import Any, NamedTuple

#: requests at once to a server that has not refused any
INITIAL_REQUESTS = 32
#: HTTP statuses of an overloaded server, and of an attempt without an answer (408)
OVERLOADED = (408, 429, 503, 529)
#: share of the requests under way that is left after a refusal
DECREASE_FACTOR = 0.9
#: answers at a full limit before the refused limit is tried again
PROBE_ANSWERS = 200


class AdaptiveLimit:
    """The number of requests that one model at one address takes at once.

    Attributes:
        limit: most requests at once; a fraction counts towards the next one.
        in_flight: requests under way.
    """

    def __init__(self, ceiling: int) -> None:
        self.limit, self.in_flight = float(min(INITIAL_REQUESTS, ceiling)), 0
        self._ceiling = ceiling
        self._decreased_at = -math.inf  # seconds
        self._refused = math.inf  # the lowest limit that the server refused
        self._answers = 0  # since the last refusal

    def admits(self, refused_before: bool) -> bool:
        """True if one more request may be sent.

        A refused request is sent again only while a tenth of the limit is free, so that
        the server does not refuse it for the same reason.
        """
        limit = int(self.limit)
        if refused_before:
            limit = max(1, min(limit - 1, int(self.limit * DECREASE_FACTOR)))
        return self.in_flight < limit

    def set_ceiling(self, ceiling: int) -> None:
        """Sets the highest limit."""
        self._ceiling = ceiling
        self.limit = min(self.limit, float(ceiling))

    def answered(self) -> None:
        """A request was answered."""
        if self.in_flight < int(self.limit) - 1:  # the limit does not hold back
            return
        self._answers += 1
        if self._answers >= PROBE_ANSWERS:
            self._refused = math.inf
        highest = min(float(self._ceiling), self._refused - 1)
        by = 1 / self.limit if self._decreased_at > -math.inf else 1.0
        self.limit = max(self.limit, min(self.limit + by, highest))

    def refused(self, sent: float, now: float) -> None:
        """A request was refused by an overloaded server.

        Args:
            sent: when the request was sent, in seconds.
            now: the time of the refusal.
        """
        if sent > self._decreased_at:  # the first refusal of a round trip
            self._decreased_at = now
            self.limit = min(self.limit, self.in_flight * DECREASE_FACTOR)
        others = self.in_flight - 1
        self.limit = max(1.0, min(self.limit, others))
        # A refusal of the only request does not tell how many the server accepts.
        self._refused = self.in_flight if others else math.inf
        self._answers = 0


class Slot(NamedTuple):
    """The permission to send one request."""

    limit: AdaptiveLimit
    sent: float


class _Waiter(NamedTuple):
    refused_before: bool
    slot: "asyncio.Future[Slot]"


class ConcurrencyLimiter:
    """Limits the requests under way: one ceiling for all, one limit for each server.

    Refused requests go first, all others by their order. All calls come from one event
    loop.

    Args:
        ceiling: the most requests at once.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limits: dict[Any, AdaptiveLimit] = {}
        self._in_flight = 0
        self._waiting: dict[AdaptiveLimit, list[tuple[tuple, _Waiter]]] = {}
        self._numbers = itertools.count()

    def set_ceiling(self, ceiling: int) -> None:
        """Sets the most requests at once; requests under way go on."""
        self.ceiling = ceiling
        for limit in self.limits.values():
            limit.set_ceiling(ceiling)

    def in_flight(self, key: Any) -> int:
        """The number of requests to a server that are under way."""
        return self.limits[key].in_flight if key in self.limits else 0

    async def acquire(self, key: Any, order: Any, refused_before: bool = False) -> Slot:
        """Waits for the permission to send a request.

        Args:
            key: names the server.
            order: waiting requests are sorted by it.
            refused_before: whether the server refused the request at its last attempt.
        """
        if slot := self.free_slot(key, refused_before):
            return slot
        limit = self.limits[key]
        waiter = _Waiter(refused_before, asyncio.get_running_loop().create_future())
        place = (not refused_before, order, next(self._numbers))
        heapq.heappush(self._waiting[limit], (place, waiter))
        self._admit()
        try:
            return await waiter.slot
        except asyncio.CancelledError:
            if waiter.slot.done() and not waiter.slot.cancelled():
                self.release(waiter.slot.result(), None)
            raise

    def free_slot(self, key: Any, refused_before: bool = False) -> Slot | None:
        """The permission to send a request at once; None if it has to wait.

        Args:
            key, refused_before: see ``acquire``.
        """
        limit = self.limits.get(key)
        if limit is None:
            limit = self.limits[key] = AdaptiveLimit(self.ceiling)
            self._waiting[limit] = []
        full = self._in_flight >= self.ceiling or not limit.admits(refused_before)
        return None if full or self._waiting[limit] else self._granted(limit)

    def _granted(self, limit: AdaptiveLimit) -> Slot:
        limit.in_flight += 1
        self._in_flight += 1
        return Slot(limit, time.monotonic())

    def release(self, slot: Slot, status: int | None) -> None:
        """Ends a request.

        Args:
            status: 200 for an answer, the HTTP status of a busy server; None otherwise.
        """
        if status == 200:
            slot.limit.answered()
        elif status in OVERLOADED:
            slot.limit.refused(slot.sent, time.monotonic())
        slot.limit.in_flight -= 1
        self._in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        """Admits the waiting requests that are within the limits, server by server."""
        for limit, waiting in self._waiting.items():
            while waiting:
                first = waiting[0][1]
                if not first.slot.done():  # else its caller has given up
                    free = self._in_flight < self.ceiling
                    if not free or not limit.admits(first.refused_before):
                        break
                    first.slot.set_result(self._granted(limit))
                heapq.heappop(waiting)
