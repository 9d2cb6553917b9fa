"""How many requests are under way at once: as many as the server takes.

Additive increase and multiplicative decrease (Chiu and Jain 1989), as in TCP: each
answer to a full load lets a little more through, a refusal (429, 503, 529) a tenth less,
once a round trip. A load of which the server refuses much ends; it begins again with one
request and grows slowly until as many were answered as had been refused (a server that
let a burst pass says nothing about its pace). Answers that take twice as long as the
fastest lie in a queue, it may be: then a lower level is tried, and kept if as many
answers come in a second as before.
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
#: HTTP states with which a server says that there is too much to do
OVERLOADED = (429, 503, 529)
#: what is left of the level after a refusal, and at least after those of a round trip
LESS, LEAST = 0.9, 0.5
#: a round trip that refuses a larger part of its requests ends the load
MUCH = 0.25
#: refusals that are never much
FEW = 2
#: answers this much later than the fastest ones lie in a queue
LATER = 2.0
#: what is left of the level when it is tried whether there is a queue
TRIAL = 0.8
#: a load that grows fast must bring this much more answers a second
FASTER = 1.2


class Level:
    """How many requests one model at one address takes at once, as found out so far.

    Attributes:
        limit: of requests at once; a fraction is on its way to the next one.
        in_flight: requests under way.
    """

    def __init__(self, ceiling: int) -> None:
        self.limit, self.in_flight = float(min(FIRST, ceiling)), 0
        self._ceiling = ceiling
        self._threshold = math.inf  # below it, the level doubles in a round trip
        self._cut_at = -math.inf  # the time of the last decrease,
        self._before = 0.0  # what was under way then,
        self._refused = 0  # and how much of it was refused
        self._careful = 0  # answers to wait for before it grows faster again
        self._round = _Round(self.limit)
        self._fastest = math.inf  # seconds, mean of a round trip
        self._pace = 0.0  # answers a second of the last one
        self._less = TRIAL  # what the last trial has left of the level
        self._tried: tuple[float, float] | None = None  # limit and pace before a trial

    def admits(self, refused_before: bool) -> bool:
        """True if one more request may go.

        One that was refused goes only while a tenth of the level is free, so that it is
        not refused again for the same reason.
        """
        limit = int(self.limit)
        if refused_before:
            limit = max(1, min(limit - 1, int(self.limit * LESS)))
        return self.in_flight < limit

    def set_ceiling(self, ceiling: int) -> None:
        """Sets the highest limit."""
        self._ceiling = ceiling
        self.limit = min(self.limit, float(ceiling))

    def answered(self, sent: float, now: float) -> None:
        """An answer came to a request that was sent at a time."""
        if self._careful:
            self._careful -= 1
            self._grow(1 / self.limit)
            return
        if self.in_flight < int(self.limit) - 1:  # it is not the level that holds back
            self._round = _Round(self.limit)
            return
        if self._round.add(sent, now):
            self._end_round(now)
        if self._tried is None:
            self._grow(1.0 if self.limit < self._threshold else 1 / self.limit)

    def refused(self, sent: float, now: float) -> None:
        """A request was refused, as there was too much to do."""
        self._tried = None
        if sent > self._cut_at:
            self._cut_at, self._before, self._refused = now, float(self.in_flight), 1
            self._cut(self._before * LESS)
        else:  # it was under way with one that was refused before it
            self._refused += 1
            left = max(self._before - self._refused, self._before * LEAST)
            self._cut(min(self.limit, left))
        if self._refused > max(FEW, self._before * MUCH):
            taken = (self._before - self._refused) * LESS
            self._threshold = max(1.0, min(taken, self._before * LEAST))
            self.limit, self._careful = 1.0, self._refused

    def _grow(self, by: float) -> None:
        self.limit = min(self.limit + by, float(self._ceiling))

    def _cut(self, limit: float) -> None:
        self.limit = self._threshold = max(1.0, limit)
        self._careful = 0

    def _end_round(self, now: float) -> None:
        """Looks at a round trip's answers: how late, and how many in a second."""
        seconds, pace = self._round.latency, self._round.pace(now)
        if self.limit < self._threshold and pace < self._pace * FASTER:
            self._threshold = self.limit  # twice the load was of no use
        self._pace = pace
        if self._tried is not None and pace < self._tried[1] * (1 + self._less) / 2:
            # It was no queue: answers take so long now.
            self.limit, self._fastest = self._tried[0], seconds
            self._tried = None
        elif seconds > self._fastest * LATER and self.limit > FEW:
            # Each trial that has cost nothing is followed by a bolder one.
            less = TRIAL if self._tried is None else max(LEAST, self._less**2)
            self._tried, self._less = (self.limit, pace), less
            self._cut(self.limit * less)
        else:
            self._fastest, self._tried = min(seconds, self._fastest), None
        self._round = _Round(self.limit)


class _Round:
    """As many answers as there may be requests at once when it begins."""

    def __init__(self, size: float) -> None:
        self._size, self._count, self._seconds = size, 0, 0.0
        self._began = math.inf

    def add(self, sent: float, now: float) -> bool:
        """True if this was the last answer."""
        self._began = min(self._began, now)
        self._count, self._seconds = self._count + 1, self._seconds + now - sent
        return self._count >= max(2.0, self._size)

    @property
    def latency(self) -> float:
        """Seconds to an answer, on average."""
        return self._seconds / self._count

    def pace(self, now: float) -> float:
        """Answers a second, from the first to the last."""
        return (self._count - 1) / max(now - self._began, 1e-6)


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

    def take(self, key: Any, refused_before: bool = False) -> Slot | None:
        """Leave to send a request, if there is one without waiting."""
        level = self.levels.get(key)
        if level is None:
            level = self.levels[key] = Level(self.ceiling)
            self._waiting[level] = []
        if not self._waiting[level] and self._free(level, refused_before):
            return self._taken(level)
        return None

    async def acquire(
        self, key: Any, order: Callable[[], Any], refused_before: bool = False
    ) -> Slot:
        """Waits for leave to send a request.

        Args:
            key: names the server.
            order: gives what waiting requests are sorted by.
            refused_before: the server has refused it when it was sent last.
        """
        if (slot := self.take(key, refused_before)) is not None:
            return slot
        level = self.levels[key]
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
        now = time.monotonic()
        if status == 200:
            slot.level.answered(slot.sent, now)
        elif status in OVERLOADED:
            slot.level.refused(slot.sent, now)
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
