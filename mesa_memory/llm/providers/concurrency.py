"""Limits the requests that are under way at once to as many as the server takes.

Additive increase and multiplicative decrease (Chiu and Jain 1989), as in TCP: until the
first refusal each answer to a full load lets one more request through, later each round
trip of them does. A refusal (429, 503, 529) or an answer that does not come in time takes
a tenth away once in a round trip, and leaves at most the requests that the server still
works on. The refused level is remembered: the load stays below it, and tries it again
only after many answers.
"""

import asyncio
import heapq
import itertools
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

#: requests at once to a server of which nothing is known
FIRST = 32
#: HTTP states of a server that has too much to do, and of an attempt without an answer
OVERLOADED = (408, 429, 503, 529)
#: share of the requests under way that is left after a refusal
DECREASE = 0.9
#: answers at a full level before the refused level is tried again; doubled whenever
#: that is refused, up to the second number
PROBE_ANSWERS, MAX_PROBE_ANSWERS = 100, 1600


class Level:
    """The number of requests that one model at one address takes at once.

    Attributes:
        limit: of requests at once; a fraction counts towards the next one.
        in_flight: requests under way.
    """

    def __init__(self, ceiling: int) -> None:
        self.limit, self.in_flight = float(min(FIRST, ceiling)), 0
        self._ceiling = ceiling
        self._decreased_at = -math.inf  # seconds
        self._refused = math.inf  # the lowest level that the server refused
        self._last_refused = 0.0  # the same, also while that level is tried again
        self._answers = 0  # since the last refusal
        self._probe_answers = PROBE_ANSWERS

    def admits(self, refused_before: bool) -> bool:
        """True if one more request may go.

        One that was refused goes only while a tenth of the level is free, so that it is
        not refused again for the same reason.
        """
        limit = int(self.limit)
        if refused_before:
            limit = max(1, min(limit - 1, int(self.limit * DECREASE)))
        return self.in_flight < limit

    def set_ceiling(self, ceiling: int) -> None:
        """Sets the highest limit."""
        self._ceiling = ceiling
        self.limit = min(self.limit, float(ceiling))

    def answered(self) -> None:
        """A request was answered."""
        if self.in_flight < int(self.limit) - 1:  # it is not the level that holds back
            return
        self._answers += 1
        if self._answers >= self._probe_answers:
            self._refused = math.inf
        highest = min(float(self._ceiling), self._refused - 1)
        by = 1 / self.limit if self._decreased_at > -math.inf else 1.0
        self.limit = max(self.limit, min(self.limit + by, highest))

    def refused(self, sent: float, now: float) -> None:
        """A request was refused, as there was too much to do.

        Args:
            sent: when the request was sent, in seconds.
            now: the time of the refusal.
        """
        if sent > self._decreased_at:  # the first refusal of a round trip
            again = self.in_flight >= self._last_refused
            most = MAX_PROBE_ANSWERS if again else PROBE_ANSWERS
            self._probe_answers = min(2 * self._probe_answers, most)
            self._decreased_at = now
            self.limit = min(self.limit, self.in_flight * DECREASE)
        others = self.in_flight - 1
        self.limit = max(1.0, min(self.limit, others))
        # A request that is refused alone says nothing of how many may go at once.
        self._refused = self.in_flight if others else math.inf
        self._last_refused, self._answers = self._refused, 0


class Slot:
    """Leave for one request to be sent."""

    def __init__(self, level: Level, sent: float) -> None:
        self.level, self.sent = level, sent


class Slots:
    """Lets requests through, up to a ceiling for all and a level for each server.

    Who waits goes in this order: refused before, then by what ``order`` says. All calls
    come from one event loop.

    Args:
        ceiling: the most requests at once.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.levels: dict[Any, Level] = {}
        self._in_flight = 0
        self._waiting: dict[Level, list[tuple[tuple, _Waiter]]] = {}
        self._numbers = itertools.count()

    def set_ceiling(self, ceiling: int) -> None:
        """Sets the most requests at once; those under way go on."""
        self.ceiling = ceiling
        for level in self.levels.values():
            level.set_ceiling(ceiling)

    def in_flight(self, key: Any) -> int:
        """The number of requests to a server that are under way."""
        level = self.levels.get(key)
        return level.in_flight if level else 0

    async def acquire(
        self, key: Any, order: Callable[[], Any], refused_before: bool = False
    ) -> Slot:
        """Waits for leave to send a request.

        Args:
            key: names the server.
            order: gives what waiting requests are sorted by.
            refused_before: the server has refused it when it was sent last.
        """
        level = self.levels.get(key)
        if level is None:
            level = self.levels[key] = Level(self.ceiling)
            self._waiting[level] = []
        if not self._waiting[level] and self._free(level, refused_before):
            return self._taken(level)
        asked = asyncio.get_running_loop().create_future()
        place = (not refused_before, order(), next(self._numbers))
        heapq.heappush(self._waiting[level], (place, _Waiter(refused_before, asked)))
        self._let_through()
        try:
            return await asked
        except asyncio.CancelledError:
            if asked.done() and not asked.cancelled():
                self._give_back(asked.result())
            raise

    def release(self, slot: Slot, status: int | None) -> None:
        """Ends a request.

        Args:
            status: 200 for an answer, the HTTP state of an error; None for another one.
        """
        if status == 200:
            slot.level.answered()
        elif status in OVERLOADED:
            slot.level.refused(slot.sent, time.monotonic())
        self._give_back(slot)

    def _give_back(self, slot: Slot) -> None:
        slot.level.in_flight -= 1
        self._in_flight -= 1
        self._let_through()

    def _free(self, level: Level, refused_before: bool) -> bool:
        return self._in_flight < self.ceiling and level.admits(refused_before)

    def _taken(self, level: Level) -> Slot:
        level.in_flight += 1
        self._in_flight += 1
        return Slot(level, time.monotonic())

    def _let_through(self) -> None:
        """Lets those through who may go now; one server after the other."""
        for level, waiting in self._waiting.items():
            while waiting:
                first = waiting[0][1]
                if first.asked.done():  # nobody waits for it any more
                    heapq.heappop(waiting)
                elif self._free(level, first.refused_before):
                    heapq.heappop(waiting)
                    first.asked.set_result(self._taken(level))
                else:
                    break


class _Waiter(NamedTuple):
    """A request that waits for leave."""

    refused_before: bool
    asked: "asyncio.Future[Slot]"
