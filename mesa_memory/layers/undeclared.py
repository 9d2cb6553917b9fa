"""Finds attributes that a layer changes while it works and that no snapshot keeps."""

import copy
from collections import deque
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from mesa_memory.errors import UndeclaredState
from mesa_memory.layers.base import Layer

_GIVEN = ("context", "name", "part", "heading")
_CONTAINERS = (list, dict, set, deque)


class StateWatch:
    """The attributes of a memory's layers before a step, without the declared ones.

    A layer that has its own ``snapshot`` and ``restore`` says itself what is kept.

    Args:
        layers: of the memory.
    """

    def __init__(self, layers: Iterable[Layer]) -> None:
        self._before = [(each, _undeclared(each)) for each in layers if _declares(each)]

    def check(self, known: set[str]) -> None:
        """Compares the attributes with those before the step.

        Args:
            known: attributes that were told before; new ones are added.

        Raises:
            UndeclaredState: for the first attribute that was set or changed.
        """
        for layer, before in self._before:
            for name, value in _undeclared(layer).items():
                place = f"{type(layer).__name__}.{name}"
                if place not in known and not _same(before.get(name, before), value):
                    known.add(place)
                    raise UndeclaredState(_message(layer, name))


def _message(layer: Layer, name: str) -> str:
    kind = type(layer).__name__
    return (
        f"the layer {layer.name!r} set {name!r} in a step, and a run that is resumed "
        f"would lose it: name it in the state of {kind}, or let {kind} extend "
        "snapshot() and restore()."
    )


def _declares(layer: Layer) -> bool:
    """True for a layer whose state is what ``state`` names."""
    kind = type(layer)
    return (kind.snapshot, kind.restore) == (Layer.snapshot, Layer.restore)


def _undeclared(layer: Layer) -> dict[str, Any]:
    """The attributes that a snapshot leaves out; containers as they are now."""
    kind = type(layer)
    return {
        name: copy.copy(value) if type(value) in _CONTAINERS else value
        for name, value in vars(layer).items()
        if name not in (*layer.state, *_GIVEN)
        # What a cached property has follows from the rest.
        and not isinstance(getattr(kind, name, None), cached_property)
    }


def _same(before: Any, now: Any) -> bool:
    if before is now or type(now) not in _CONTAINERS or type(before) is not type(now):
        return before is now
    items = zip(_items(before), _items(now), strict=False)
    return len(before) == len(now) and all(a is b for a, b in items)


def _items(several: Any) -> list[Any]:
    """The items of a container; of a dict, keys and values."""
    if isinstance(several, dict):
        return [*several, *several.values()]
    return list(several)
