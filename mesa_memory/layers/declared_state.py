"""The attributes that a layer or a memory names in ``state``, as a snapshot keeps them.

Numbers, text, lists, tuples, dicts, sets, deques and records of the same memory are kept
at any depth. Other objects need ``snapshot`` and ``restore`` of the class. Secrets and
addresses are neither written to a file nor taken from one, as it may be a stranger's.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from mesa_memory.core.codec import in_order
from mesa_memory.core.content import plain
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.text.addresses import is_address_name
from mesa_memory.core.text.redaction import secret_name
from mesa_memory.errors import UndeclaredState


class _NotKeptError(Exception):
    """A value that a snapshot cannot keep; the message says why."""


def declared_state(thing: Any) -> dict[str, Any]:
    """The attributes that the ``state`` of a layer or a memory names, for a snapshot.

    Raises:
        UndeclaredState: for a value that cannot be kept.
    """
    found: dict[str, Any] = {}
    if not thing.state:
        return found
    memory = thing if hasattr(thing, "layers") else thing.memory
    owner = (memory.agent.unique_id, memory.journal.layer)
    for name in thing.state:
        try:
            if secret_name(name):
                raise _NotKeptError("it is a secret, and secrets are not recorded")
            if is_address_name(name):
                raise _NotKeptError("it is an address, which no file may set")
            found[name] = _copy(owner, getattr(thing, name, None))
        except (_NotKeptError, RecursionError) as error:
            reason = (
                str(error) if isinstance(error, _NotKeptError) else "it holds itself"
            )
            kind = type(thing).__name__
            raise UndeclaredState(
                f"the state of {kind} names {name!r}, which cannot be recorded: {reason}. "
                f"Hold it as plain data (numbers, text, lists, dicts) or as records, or "
                f"let {kind} extend snapshot() and restore()."
            ) from None
    return found


def take_up(thing: Any, kept: Mapping[str, Any]) -> None:
    """Sets the attributes that ``state`` names as ``declared_state`` gave them.

    A record that was erased since is left out.
    """
    for name in thing.state:
        if name in kept:
            setattr(thing, name, kept[name])


def layer_snapshot(layer: Any) -> dict[str, Any]:
    """A layer's ``snapshot``, with its ``state`` also where a class of ours has its own."""
    return declared_state(layer) | layer.snapshot()


def restore_layer(layer: Any, part: Mapping[str, Any], shelf: RecordLookup) -> None:
    """Restores a layer from the result of ``layer_snapshot``."""
    take_up(layer, part)
    layer.restore(part, shelf)


def _copy(owner: tuple[Any, str], value: Any) -> Any:
    """A value that can be recorded, as it is now; records are themselves."""
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, int, float):
        return value
    if kind is str:
        return plain(value)
    if kind is MemoryRecord:
        if (value.agent, value.layer) != owner:
            raise _NotKeptError("it holds a record of another memory")
        return value
    if kind is dict:
        return {_copy(owner, key): _copy(owner, item) for key, item in value.items()}
    if kind in (set, frozenset):
        try:
            in_order(value)
        except TypeError:
            message = "it holds a set whose items cannot be ordered"
            raise _NotKeptError(message) from None
    if kind is deque:
        return deque((_copy(owner, item) for item in value), value.maxlen)
    if kind in (list, tuple, set, frozenset):
        return kind([_copy(owner, item) for item in value])
    named = getattr(value, "__qualname__", None) or kind.__qualname__
    raise _NotKeptError(f"it holds an object ({named})")


_SEQUENCES = (list, tuple, deque)
_PLAIN = (bool, int, float, str, set)


def watched(things: Iterable[Any]) -> list[Any]:
    """Those of a memory and its layers whose undeclared attributes are watched.

    Classes of this package are not watched, and neither is a user's class that has its
    own ``snapshot`` or ``restore``, which choose their state.
    """
    return [each for each in things if _is_watched(type(each))]


class StateGuard:
    """The undeclared attributes of a memory and its layers before they work.

    Args:
        things: as ``watched`` gives them.
    """

    def __init__(self, things: Iterable[Any]) -> None:
        self._before = [(each, _undeclared(each)) for each in things]

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
    own = getattr(thing, "name", None)  # of a layer
    who = f"a {kind}" if own is None else f"the layer {own!r}"
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
