"""What belongs to steps, and a browser keeps: it is given each once, or when it asks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import solara

#: steps that are given together once the browser asks
STEPS = 20


@dataclass
class _Sent:
    """What a browser has been given since it began, or had to forget all."""

    version: Any
    begun: bool
    places: set[int] = field(default_factory=set)
    newest: list[range] = field(default_factory=list)


def use_portions(
    version: Any, place: int, steps: int, at_once: bool = True
) -> tuple[list[range], Callable[[int], None]]:
    """The steps of which a browser is given something now.

    At first these are the one that is shown and the one before, so that there is
    something to see; then whatever it asks for, with the steps around, and the newest of
    a run that goes on.

    Args:
        version: another one makes the browser forget what it has.
        place: of the step that is shown.
        steps: how many there are.
        at_once: False gives nothing before the browser asks for the first time.

    Returns:
        Stretches of places of steps, the same list while there is nothing new; and what
        is to be called with the place of a step for which the browser asks.
    """
    (asks, asked), ask = solara.use_state((0, 0))
    given, answered = solara.use_ref(_Sent(version, at_once)), solara.use_ref(0)
    if given.current.version != version:
        given.current = _Sent(version, at_once)
    known = given.current
    wanted: set[int] = set()
    if known.begun:
        wanted = {n for n in (place - 1, place) if 0 <= n < steps} - known.places
    if asks != answered.current and 0 <= asked < steps:
        first = asked - asked % STEPS
        wanted |= set(range(first, min(first + STEPS, steps)))
        answered.current, known.begun = asks, True
    if wanted:
        known.places |= wanted
        known.newest = stretches(wanted)
    return known.newest, lambda n: ask(lambda before: (before[0] + 1, n))


def stretches(places: Iterable[int]) -> list[range]:
    """Places as stretches of such as follow each other, in order."""
    found: list[range] = []
    for place in sorted(places):
        if found and found[-1].stop == place:
            found[-1] = range(found[-1].start, place + 1)
        else:
            found.append(range(place, place + 1))
    return found
