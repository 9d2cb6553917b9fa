"""Python values as plain JSON, and back.

A plain value is itself. What JSON lacks is an object with one key that begins with ``$``:
a tuple, a long integer, a record of a memory by its id. Text is data: a dict that looks
like such an object is written as pairs, and is a dict again. An argument that cannot be
written leaves its class's name, so that the reader can ask for it.
"""

import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.text.redaction import REDACTED, hide

#: markers of values that are not in the JSON
OBJECT, SECRET, STORE = "$object", "$secret", "$store"
#: in place of a class, where nobody saw what was given
UNKNOWN = "unknown"
#: markers of values that are, in another form; a dict is a list of pairs
NUMBER, DICT, PATH, GENERATOR, RECORD = (
    "$number",
    "$dict",
    "$path",
    "$generator",
    "$record",
)
TUPLE, DEQUE = "$tuple", "$deque"
#: a class or function as ``module:name``; a call of one, made now or later
NAME, CALL, LATER = "$name", "$call", "$later"
_CONTAINERS: dict[str, Callable[[list], Any]] = {
    TUPLE: tuple,
    "$set": set,
    "$frozenset": frozenset,
    DEQUE: lambda items: deque(items[1:], items[0]),  # after its longest length
}
_MARK_OF: dict[type, str] = {
    tuple: TUPLE,
    set: "$set",
    frozenset: "$frozenset",
    deque: DEQUE,
}
MARKS = frozenset(
    {OBJECT, SECRET, STORE, NUMBER, DICT, PATH, GENERATOR, RECORD, NAME, CALL, LATER}
    | _CONTAINERS.keys()
)
#: what any JSON reader takes as a whole number
_EXACT = 2**53
#: deeper values are not written
MAX_DEPTH = 30
#: what workers of multiprocessing and mpi4py call the program that started them
_PROGRAM = {"__mp_main__": "__main__", "__worker__": "__main__"}

#: gives the JSON of a value without a plain form, at a depth
type Special = Callable[[Any, int], Any]


def missing(value: Any, depth: int = 0) -> dict[str, str]:
    """The placeholder of an object that cannot be written down."""
    return {OBJECT: (value if isinstance(value, type) else type(value)).__qualname__}


def argument(value: Any, depth: int = 0) -> Any:
    """A path or a generator of random numbers as JSON; a placeholder of anything else."""
    if isinstance(value, PurePath):
        return {PATH: str(value)}
    if isinstance(value, np.random.Generator):
        return {GENERATOR: encode(value.bit_generator.state, _listed, depth)}
    return missing(value)


def _listed(value: Any, depth: int) -> Any:
    return value.tolist()


def encode(value: Any, special: Special = argument, depth: int = 0) -> Any:
    """A value as JSON: numbers, texts, lists, tuples, dicts, sets and deques at any depth.

    Args:
        special: gives the JSON of any other value, and of one that is nested too deep.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -_EXACT < value < _EXACT else {NUMBER: str(value)}
    if kind is float:
        return value if math.isfinite(value) else {NUMBER: repr(value)}
    if isinstance(value, np.generic) and not isinstance(
        item := value.item(), np.generic
    ):
        return encode(item, special, depth)
    depth += 1
    if depth > MAX_DEPTH:
        return special(value, depth)
    if kind is list:
        return [encode(item, special, depth) for item in value]
    if kind is dict:
        names = all(type(key) is str for key in value)
        if names and not (len(value) == 1 and MARKS.issuperset(value)):
            return {key: encode(item, special, depth) for key, item in value.items()}
        pairs = value.items()
        return {
            DICT: [[encode(each, special, depth) for each in pair] for pair in pairs]
        }
    if kind not in _MARK_OF:
        return special(value, depth)
    try:
        items = in_order(value) if isinstance(value, set | frozenset) else value
    except TypeError:
        return special(value, depth)
    first = [value.maxlen] if kind is deque else []
    return {_MARK_OF[kind]: [*first, *(encode(item, special, depth) for item in items)]}


def in_order(items: Iterable[Any]) -> list[Any]:
    """The items of a set, whose own order changes from process to process.

    Raises:
        TypeError: if they cannot be ordered.
    """
    return sorted(items, key=lambda item: (type(item).__name__, item))


def decode(
    value: Any, special: Mapping[str, Callable[[Any], Any]] | None = None
) -> Any:
    """The value that was encoded.

    Args:
        special: makes a value from what stands under its marker.

    Raises:
        ValueError: if it cannot be made. Junk may raise any of Python's own errors.
    """
    if isinstance(value, list):
        return [decode(item, special) for item in value]
    if not isinstance(value, dict):
        return value
    mark = mark_of(value)
    if mark is None:
        return {key: decode(item, special) for key, item in value.items()}
    kept = value[mark]
    if special and mark in special:
        return special[mark](kept)
    if mark == NUMBER:
        return number_of(kept)
    if mark == DICT:
        whole = [decode(pair, special) for pair in kept if len(pair) == 2]
        return dict(whole)  # a pair without its record, see ``drop_record``, is gone
    if mark in _CONTAINERS:
        return _CONTAINERS[mark]([decode(item, special) for item in kept])
    raise ValueError(f"{value!r:.80} cannot be restored")


# -- snapshots ---------------------------------------------------------------------------


def encode_snapshot(snapshot: Any) -> Any:
    """The snapshot of a memory or a model as JSON that refers to records by their ids.

    Raises:
        TypeError: for an object that cannot be written as plain data.
    """
    return encode(snapshot, _in_snapshot)


def _in_snapshot(value: Any, depth: int) -> Any:
    if isinstance(value, MemoryRecord):
        return {RECORD: value.id}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int | float):
        return encode(value.real, _in_snapshot, depth)
    raise TypeError(f"a snapshot cannot keep {value!r:.80} ({type(value).__name__})")


def decode_snapshot(state: Any, records: RecordLookup) -> Any:
    """The snapshot again, with these records in it.

    Raises:
        KeyError: if it refers to a record that is not there.
    """
    return decode(state, {RECORD: records.__getitem__})


def drop_record(state: Any, gone: str) -> Any:
    """An encoded snapshot, or a part of it, without the references to a record."""
    reference = {RECORD: gone}
    if isinstance(state, list):
        return [drop_record(item, gone) for item in state if item != reference]
    if isinstance(state, dict):
        kept = {key: item for key, item in state.items() if item != reference}
        return {key: drop_record(item, gone) for key, item in kept.items()}
    return state


def rename(state: Any, names: Mapping[str, str]) -> Any:
    """An encoded snapshot with other ids, where ids are keys or texts of their own."""
    if isinstance(state, list):
        return [rename(item, names) for item in state]
    if isinstance(state, str):
        return names.get(state, state)
    if not isinstance(state, dict) or mark_of(state) == RECORD:
        return state
    return {names.get(key, key): rename(item, names) for key, item in state.items()}


# -- classes and functions ---------------------------------------------------------------


def by_name(value: Any, depth: int = 0) -> Any:
    """A class or function by its name, or a call of one; anything else as an argument.

    Calls are ``functools.partial`` and frozen dataclasses.
    """
    mark, args, given = LATER, [], {}
    if isinstance(value, partial):
        function, args, given = value.func, list(value.args), value.keywords
    elif is_dataclass(value) and not isinstance(value, type):
        if not value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            return missing(value)
        mark, function = CALL, type(value)
        given = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    else:
        function, mark = value, NAME
    name = _own_name(function)
    if depth > MAX_DEPTH or not callable(function) or loaded(name) != function:
        return argument(value, depth)
    if mark == NAME:
        return {NAME: name}
    return {
        mark: [
            {NAME: name},
            encode(args, by_name, depth),
            encode(given, by_name, depth),
        ]
    }


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


def decode_argument(
    value: Any, location: Any = None, find: Callable[[str], Any] = loaded
) -> Any:
    """The argument that was written; an invalid value raises Python's own errors.

    Args:
        location: stands for the run's own store.
        find: gives a class or function by ``module:name``.
    """

    def call(kept: Any) -> partial:
        function, args, given = decode(kept, special)
        return partial(function, *args, **given)

    def made(kept: Any) -> Any:
        later = call(kept)
        if not is_dataclass(later.func):
            raise TypeError(f"{later.func!r:.60} is not a dataclass")
        return later()

    special: dict[str, Callable[[Any], Any]] = {
        PATH: Path,
        GENERATOR: lambda kept: generator(decode(kept)),
        NAME: find,
        LATER: call,
        CALL: made,
        STORE: lambda kept: location,
    }
    return decode(value, special)


# -- random numbers ----------------------------------------------------------------------


def generator(state: Any) -> np.random.Generator:
    """A generator of numpy in a state, which may have lists in place of arrays."""
    source: Any = getattr(np.random, state["bit_generator"])(0)
    source.state = state
    return np.random.Generator(source)


# -- what was encoded ----------------------------------------------------------------------


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


def inside(value: Any) -> Iterator[Any]:
    """An encoded value and all in it."""
    yield value
    items = list(value.values()) if isinstance(value, dict) else value
    if isinstance(items, list):
        for item in items:
            yield from inside(item)


def lost(value: Any) -> str | None:
    """The reason that an encoded value cannot be restored; None if it can."""
    for part in inside(value):
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
    """An encoded value for a reader: plain data, with a word for each missing part.

    Sets are shown as lists, and a damaged value as it is.
    """
    hidden = hide(value)
    try:
        return decode(hidden, _SHOWN)
    except (TypeError, ValueError, AttributeError, LookupError):
        return hidden


def _shown_call(kept: Any) -> str:
    """A call as it is written in Python, such as ``EpisodicMemory(max_capacity=20)``."""
    name, args, given = decode(kept, _SHOWN)
    told = [*map(repr, args), *(f"{key}={item!r}" for key, item in given.items())]
    return f"{str(name).rpartition(':')[2]}({', '.join(told)})"


def _shown_items(kept: Any) -> Any:
    return [decode(item, _SHOWN) for item in kept]


#: what a reader is shown of what stands under a marker
_SHOWN: dict[str, Callable[[Any], Any]] = {
    SECRET: lambda kept: REDACTED,
    OBJECT: lambda kept: f"[not recorded: {kept}]",
    STORE: lambda kept: "[this store]",
    GENERATOR: lambda kept: f"[recorded state of {kept['bit_generator']}]",
    DICT: lambda kept: hide(dict(_shown_items(kept))),
    "$set": _shown_items,
    "$frozenset": _shown_items,
    DEQUE: lambda kept: _shown_items(kept[1:]),
    CALL: _shown_call,
    LATER: _shown_call,
    **dict.fromkeys((PATH, NAME, RECORD), str),
}
