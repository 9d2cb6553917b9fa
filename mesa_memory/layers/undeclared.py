"""Finds attributes that a layer or a memory changes while it works and does not declare."""

from collections import deque
from collections.abc import Iterable
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from mesa_memory.errors import UndeclaredState
from mesa_memory.layers.base import Layer
from mesa_memory.layers.declared_state import declared_state

_SEQUENCES = (list, tuple, deque)
_PLAIN = (bool, int, float, str, set)


class StateWatch:
    """The undeclared attributes of a memory and its layers before they work.

    Classes of this package are not watched, and neither is a user's class that has its
    own ``snapshot`` or ``restore``, which choose their state.

    Args:
        things: the memory and its layers.
    """

    def __init__(self, things: Iterable[Any]) -> None:
        watched = [each for each in things if _is_watched(type(each))]
        self._before = [(each, _undeclared(each)) for each in watched]

    def check(self, known: set[str]) -> None:
        """Compares the attributes with those before.

        Args:
            known: attributes that were reported before; new ones are added.

        Raises:
            UndeclaredState: for the first attribute that was set or changed, and for a
                declared one that cannot be recorded.
        """
        for thing, before in self._before:
            if type(thing).__name__ not in known:
                known.add(type(thing).__name__)
                declared_state(thing)
            for name, value in _undeclared(thing).items():
                place = f"{type(thing).__name__}.{name}"
                if place in known or (name in before and _same(before[name], value)):
                    continue
                known.add(place)
                raise UndeclaredState(_message(thing, name))


def _message(thing: Any, name: str) -> str:
    kind = type(thing).__name__
    who = f"the layer {thing.name!r}" if isinstance(thing, Layer) else f"a {kind}"
    return (
        f"{who} set {name!r} in a step, and a resumed run would lose it: write "
        f"state = {(*thing.state, name)} in {kind}, or let {kind} extend snapshot() and restore()."
    )


def _is_watched(kind: type) -> bool:
    own = takewhile(lambda each: not _is_of_package(each), kind.__mro__)
    return not _is_of_package(kind) and not any(
        name in vars(each) for each in own for name in ("snapshot", "restore")
    )


def _is_of_package(kind: type) -> bool:
    return kind.__module__.startswith("mesa_memory.")


def _undeclared(thing: Any) -> dict[str, Any]:
    """The attributes that a snapshot leaves out, as they are now."""
    kind, declared = type(thing), (*thing.state, *thing.restored)
    return {
        name: _copied(value, ())
        for name, value in vars(thing).items()
        if name not in declared
        # The value of a cached property follows from the rest.
        and not isinstance(getattr(kind, name, None), cached_property)
    }


def _copied(value: Any, above: tuple[Any, ...]) -> Any:
    """Containers as they are now, at any depth; other objects as themselves."""
    if any(value is each for each in above):
        return value  # it holds itself
    above, kind = (*above, value), type(value)
    if kind is dict:
        return {key: _copied(item, above) for key, item in value.items()}
    if kind in _SEQUENCES:
        return [_copied(item, above) for item in value]
    if kind is np.ndarray:
        return value.tolist()
    return set(value) if kind is set else value


def _same(before: Any, now: Any) -> bool:
    if before is now or type(before) is not type(now):
        return before is now
    if isinstance(now, dict):
        return list(before) == list(now) and all(_same(before[k], now[k]) for k in now)
    if isinstance(now, list):
        pairs = zip(before, now, strict=False)
        return len(before) == len(now) and all(_same(a, b) for a, b in pairs)
    return type(now) in _PLAIN and bool(before == now)
