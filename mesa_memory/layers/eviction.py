"""Chooses the records that are evicted first when a memory is full."""

import heapq
from collections.abc import Hashable, Iterable, Sequence
from typing import Any


def repeated_places(said: Sequence[Hashable], surplus: int) -> list[tuple[int, int]]:
    """The places of repetitions to evict, each with that of the newest like it.

    Args:
        said: what each record says, and who; oldest first.
        surplus: the most that are evicted: the oldest repetition of the one that is
            repeated most, then again.
    """
    groups: dict[Hashable, list[int]] = {}
    for place, key in enumerate(said):
        groups.setdefault(key, []).append(place)
    waiting = [(-len(places), places) for places in groups.values() if len(places) > 1]
    heapq.heapify(waiting)
    evicted: list[tuple[int, int]] = []
    while waiting and len(evicted) < surplus:
        count, (oldest, *rest) = waiting[0]
        evicted.append((oldest, rest[-1]))
        if len(rest) > 1:
            heapq.heapreplace(waiting, (count + 1, rest))
        else:
            heapq.heappop(waiting)
    return evicted


def surplus_places(
    speakers: Iterable[Hashable],
    weights: Iterable[Any],
    capacity: int,
    witnessed_share: float,
) -> set[int]:
    """The places of the records beyond the capacity.

    Only speakers with more than their share lose records, the lowest weight first, so
    that one speaker's records do not evict another's or witnessed ones.

    Args:
        speakers: in whose words each record is; None if the agent has witnessed it.
        weights: of each record; the lowest is evicted first.
        witnessed_share: the part of the capacity that witnessed records may fill before
            they are evicted; the speakers share the rest equally.
    """
    groups: dict[Hashable, list[tuple[Any, int]]] = {}
    for place, (speaker, weight) in enumerate(zip(speakers, weights, strict=True)):
        groups.setdefault(speaker, []).append((weight, place))
    size = sum(map(len, groups.values()))
    own = min(len(groups.get(None, ())), int(capacity * witnessed_share))
    share = (capacity - own) / max(1, len(groups.keys() - {None}))
    for group in groups.values():
        heapq.heapify(group)
    evicted: set[int] = set()
    while size - len(evicted) > capacity:
        over = (
            group
            for speaker, group in groups.items()
            if len(group) > (own if speaker is None else share)
        )
        evicted.add(heapq.heappop(min(over))[1])
    return evicted
