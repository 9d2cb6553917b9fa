"""Chooses the records that are evicted first when a memory is full."""

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Evictable:
    """A record that may be evicted.

    Attributes:
        speaker: in whose words it is; None for a record that the agent has witnessed.
        weight: the lowest is evicted first.
    """

    speaker: Hashable
    weight: Any


def surplus_places(
    records: Sequence[Evictable], capacity: int, witnessed_share: float
) -> set[int]:
    """The places of the records beyond the capacity.

    Only speakers with more than their share lose records, the lowest weight first, so
    that one speaker's records do not evict another's or witnessed ones.

    Args:
        witnessed_share: the part of the capacity that witnessed records may fill before
            they are evicted; the speakers share the rest equally.
    """
    groups: dict[Hashable, list[tuple[Any, int]]] = {}
    for place, record in enumerate(records):
        groups.setdefault(record.speaker, []).append((record.weight, place))
    own = min(len(groups.get(None, ())), int(capacity * witnessed_share))
    share = (capacity - own) / max(1, len(groups.keys() - {None}))
    for group in groups.values():
        heapq.heapify(group)
    evicted: set[int] = set()
    while len(records) - len(evicted) > capacity:
        over = (
            group
            for speaker, group in groups.items()
            if len(group) > (own if speaker is None else share)
        )
        evicted.add(heapq.heappop(min(over))[1])
    return evicted
