"""Arguments of a model as plain JSON, which says of each value whether it came whole.

A plain value is itself. What JSON has not is an object with one key that begins with
``$``: a tuple, a long integer, a generator of random numbers. An object that cannot be
written down leaves its class's name, so that the reader can ask for it.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np

from mesa_memory.core.text.redaction import REDACTED, hide

#: markers of values that are not in the JSON
OBJECT, SECRET, STORE = "$object", "$secret", "$store"
#: in place of a class, where nobody saw what was given
UNKNOWN = "unknown"
#: markers of values that are, in another form
TUPLE, NUMBER, PATH, DICT = "$tuple", "$number", "$path", "$dict"
GENERATOR = "$generator"
#: a class or function as ``module:name``; a call of one, made now or later
NAME, CALL, LATER = "$name", "$call", "$later"
MARKS = frozenset(
    {OBJECT, SECRET, STORE, TUPLE, NUMBER, PATH, DICT, GENERATOR, NAME, CALL, LATER}
)
#: what any JSON reader takes as a whole number
_EXACT = 2**53
#: deeper values are not written down
_DEEPEST = 12
#: what workers of multiprocessing and mpi4py call the program that started them
_PROGRAM = {"__mp_main__": "__main__", "__worker__": "__main__"}


def encode(value: Any, depth: int = 0, code: bool = False) -> Any:
    """A value as JSON; one without a plain form becomes ``{"$object": class}``.

    Args:
        code: also write classes and functions by their name, and what is made of them:
            ``functools.partial`` and frozen dataclasses.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if isinstance(value, np.generic) and kind is not np.void:
        return encode(value.item(), depth)
    if kind is int:
        return value if -_EXACT < value < _EXACT else {NUMBER: str(value)}
    if kind is float:
        return value if math.isfinite(value) else {NUMBER: repr(value)}
    if isinstance(value, PurePath):
        return {PATH: str(value)}
    if depth > _DEEPEST:
        return missing(value)
    if kind is list or kind is tuple:
        items = [encode(item, depth + 1, code) for item in value]
        return items if kind is list else {TUPLE: items}
    if kind is dict and all(type(key) is str for key in value):
        named = {key: encode(item, depth + 1, code) for key, item in value.items()}
        marked = len(named) == 1 and next(iter(named)) in MARKS
        return {DICT: named} if marked else named
    if isinstance(value, np.random.Generator):
        return {GENERATOR: encode(state_of(value.bit_generator), depth + 1)}
    return (_code(value, depth) if code else None) or missing(value)


def _code(value: Any, depth: int) -> dict[str, Any] | None:
    """A class or function by its name, or a call of one; None for anything else."""
    mark, args, given = LATER, [], {}
    if isinstance(value, partial):
        function, args, given = value.func, list(value.args), value.keywords
    elif is_dataclass(value) and not isinstance(value, type):
        if not value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            return None
        mark, function = CALL, type(value)
        given = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    else:
        function, mark = value, NAME
    name = _own_name(function)
    if not callable(function) or loaded(name) != function:
        return None
    if mark == NAME:
        return {NAME: name}
    said = [{NAME: name}, encode(args, depth + 1, True), encode(given, depth + 1, True)]
    return {mark: said}


def loaded(name: str) -> Any:
    """The class or function that is called ``module:name`` in this program, or None.

    Nothing is imported, and what a module has from elsewhere is not found there.
    """
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if _own_name(found) == name else None


def _own_name(thing: Any) -> str:
    module = getattr(thing, "__module__", None)
    return f"{_PROGRAM.get(str(module), module)}:{getattr(thing, '__qualname__', '')}"


def full_name(thing: Any) -> str:
    """Module and name of a class or function, the same in a program and its workers."""
    module = _PROGRAM.get(thing.__module__, thing.__module__)
    return f"{module}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def missing(value: Any) -> dict[str, str]:
    """The placeholder of an object that cannot be written down."""
    return {OBJECT: (value if isinstance(value, type) else type(value)).__qualname__}


def state_of(source: Any) -> dict[str, Any]:
    """The state of a numpy bit generator, with lists in place of arrays."""
    return lists(source.state if hasattr(source, "state") else source)


def lists(value: Any) -> Any:
    """The same with lists in place of arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: lists(item) for key, item in value.items()}
    return value


def number_of(text: str) -> int | float:
    """The number that stands under ``NUMBER``.

    Raises:
        ValueError: if the text is not such a number.
    """
    return float(text) if text in ("inf", "-inf", "nan") else int(text)


def mark_of(value: Any) -> str | None:
    """The marker of an encoded value; None if it is plain."""
    if isinstance(value, dict) and len(value) == 1:
        (key,) = value
        return key if key in MARKS else None
    return None


def inside(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """An encoded value and all in it, each with the name under which it stands."""
    yield name, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from inside(item, name if key in MARKS else str(key))
    elif isinstance(value, list):
        for item in value:
            yield from inside(item, name)


def lost(value: Any) -> str | None:
    """The reason that an encoded value cannot be restored; None if it can."""
    for _, part in inside(value):
        mark = mark_of(part)
        if mark == OBJECT and part[OBJECT] == UNKNOWN:
            return (
                "the model was made before mesa_memory was imported, so it is unknown"
            )
        if mark == OBJECT:
            return f"an object ({part[OBJECT]}) cannot be recorded"
        if mark == SECRET:
            return "it is a secret, and secrets are not recorded"
    return None


def readable(value: Any) -> Any:
    """An encoded value for a reader: plain data, with a word for each missing part."""
    return _readable(hide(value))


def _readable(value: Any) -> Any:
    mark = mark_of(value)
    if mark == SECRET:
        return REDACTED
    if mark == OBJECT:
        return f"[not recorded: {value[OBJECT]}]"
    if mark == STORE:
        return "[this store]"
    if mark in (CALL, LATER):
        return _readable_call(value[mark])
    if mark == GENERATOR:
        state = value[mark]
        kind = state.get("bit_generator") if isinstance(state, dict) else None
        return f"[recorded state of {kind}]"
    if mark == NUMBER:
        try:
            return number_of(value[mark])
        except (TypeError, ValueError):  # a damaged file is shown as it is
            return value[mark]
    if mark == DICT:  # whose own key looks like a marker
        return {key: _readable(item) for key, item in value[mark].items()}
    if mark is not None:
        inner = _readable(value[mark])
        return tuple(inner) if mark == TUPLE and isinstance(inner, list) else inner
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    return value


def _readable_call(said: Any) -> str:
    """A call as it is written in Python, such as ``EpisodicMemory(max_capacity=20)``."""
    name, args, given = map(_readable, said)
    told = [*map(repr, args), *(f"{key}={item!r}" for key, item in given.items())]
    return f"{str(name).rpartition(':')[2]}({', '.join(told)})"
