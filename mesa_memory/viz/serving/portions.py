"""Data of steps that a browser keeps: each is sent once, or on request."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import solara

#: steps that are sent together
PORTION_STEPS = 20


@dataclass
class _Sent:
    """The steps that were sent to a browser since it began with this version."""

    version: Any
    begun: bool
    places: set[int] = field(default_factory=set)
    newest: list[range] = field(default_factory=list)


def use_portions(
    version: Any, place: int, steps: int, at_once: bool = True
) -> tuple[list[range], Callable[[int], None]]:
    """The steps to be sent to a browser now.

    At first these are the current step and the one before; then the requested steps with
    their neighbours, and the newest of an unfinished run.

    Args:
        version: another one empties the browser's cache.
        place: of the current step.
        steps: their number.
        at_once: False sends nothing before the browser asks for the first time.

    Returns:
        Stretches of places of steps, the same list until a new one; and a function to be
        called with the place of a step that the browser asks for.
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
        first = asked - asked % PORTION_STEPS
        wanted |= set(range(first, min(first + PORTION_STEPS, steps)))
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
