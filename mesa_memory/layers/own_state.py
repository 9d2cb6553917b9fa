"""The attributes that a user's class of memory adds to ours, kept in a snapshot.

Plain data (numbers, text, lists, tuples, dicts, sets, deques) and records are kept as
they are. What else a class holds, it has to tell and take up itself. A file may come
from a stranger: addresses and secrets are neither written nor taken from one.
"""

import dis
import gc
import math
import types
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mesa_memory.core.content import plain
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.snapshot import SnapshotPart
from mesa_memory.core.text.addresses import is_address
from mesa_memory.core.text.redaction import secret_name

#: packages whose classes say themselves what of them is kept
_OURS = ("mesa_memory", "mesa_llm")
#: the kinds that hold others, by the name under which a snapshot has them
_SEVERAL: dict[str, type] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
_NAMES = {kind: name for name, kind in _SEVERAL.items()}


#: packages whose agents, models and memories hold what is theirs
_FRAMEWORK = ("mesa", "mesa_llm")
#: what holds no value of a user's, or has no end
_NO_HOLDERS = (type, types.ModuleType, types.FunctionType, types.FrameType)


class NotKept(ValueError):
    """A value that a snapshot cannot keep; the message says why."""


def own_state(memory: Any) -> dict[str, Any]:
    """The attributes of a user's class that can be kept, as a snapshot has them."""
    found = {}
    for name, value in _own(memory).items():
        try:
            found[name] = _kept(memory, name, value)
        except NotKept:
            continue
    return found


def lost_state(memory: Any) -> dict[str, str]:
    """The attributes of a user's class that cannot be kept, and why."""
    found: dict[str, str] = {}
    if not _ours(type(memory).snapshot):
        return found  # the class tells it itself
    for name, value in _own(memory).items():
        try:
            _kept(memory, name, value)
        except NotKept as why:
            found[name] = str(why)
    return found


def own_records(memory: Any) -> Iterator[MemoryRecord]:
    """The records that the attributes of a user's class hold, at any depth.

    Also those in an object that a snapshot cannot keep, but none of other memories.
    """
    seen: set[int] = set()
    ahead = list(_own(memory).values())
    while ahead:
        value = ahead.pop()
        if id(value) in seen or isinstance(value, _NO_HOLDERS):
            continue
        seen.add(id(value))
        kind: Any = type(value)
        if kind is MemoryRecord:
            if (value.agent, value.layer) == (memory.agent.unique_id, memory.layer):
                yield value
        elif isinstance(value, SnapshotPart) or not _of_framework(kind):
            ahead += gc.get_referents(value)


@cache
def _of_framework(kind: Any) -> bool:
    heads = {base.__module__.partition(".")[0] for base in kind.__mro__}
    return not heads.isdisjoint(_FRAMEWORK)


def take_up(memory: Any, state: Mapping[str, Any]) -> None:
    """Sets the attributes of a user's class as they were kept."""
    for name, kept in state.items():
        place = getattr(type(memory), name, None)
        ours = name in _our_names(memory) or _is_special(name)
        if ours or callable(place) or isinstance(place, property):
            continue  # no run writes this: the file was changed
        try:
            value = _unpacked(kept)
        except NotKept:
            continue  # nor this
        if _refusal(name, value) is None:
            vars(memory)[name] = value


def packed(value: Any) -> Any:
    """A value for a snapshot: plain data and records, at any depth.

    Raises:
        NotKept: if it is neither.
    """
    return _packed(None, value)


def unpacked(kept: Any) -> Any:
    """The value again; a record that was erased since is missing in it."""
    return _unpacked(kept)


def records_in(value: Any) -> Iterator[MemoryRecord]:
    """The records in a value that ``packed`` takes."""
    if isinstance(value, MemoryRecord):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from records_in(pair)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        for item in value:
            yield from records_in(item)


def _own(memory: Any) -> dict[str, Any]:
    """What a user's class has added, without what it has from its agent."""
    ours, given = _our_names(memory), (memory.agent, memory.agent.model)
    return {
        name: value
        for name, value in vars(memory).items()
        if name not in ours
        and not _is_special(name)
        and not any(value is each for each in given)
    }


def _our_names(memory: Any) -> frozenset[str]:
    """The attributes that our classes, and Mesa-LLM's, have or set."""
    kind: Any = type(memory)
    return _names_of(kind)


@cache
def _names_of(kind: Any) -> frozenset[str]:
    ours: list[Any] = [base for base in kind.__mro__ if _ours(base)]
    names = set(vars(ours[0].__new__(ours[0])))
    for base in ours:
        names |= set(vars(base)) | set(vars(base).get("__annotations__", ()))
        for member in vars(base).values():
            code = getattr(getattr(member, "fset", member), "__code__", None)
            names |= _set_by(code) if code else set()
    return frozenset(names)


def _set_by(code: types.CodeType) -> set[str]:
    """The names of attributes that a function sets."""
    made = dis.get_instructions(code)
    return {str(step.argval) for step in made if step.opname == "STORE_ATTR"}


def _ours(thing: Any) -> bool:
    return thing.__module__.partition(".")[0] in _OURS


def _is_special(name: str) -> bool:
    return name.startswith("__")


def _kept(memory: Any, name: str, value: Any) -> Any:
    if (why := _refusal(name, value)) is not None:
        raise NotKept(why)
    try:
        return _packed(memory, value)
    except RecursionError:
        raise NotKept("it holds itself") from None


def _refusal(name: str, value: Any) -> str | None:
    """Why an attribute is neither written to a file nor taken from one."""
    if secret_name(name):
        return "it is a secret, and secrets are not recorded"
    several = isinstance(value, Mapping | list | tuple | set | frozenset | deque)
    if is_address(value if isinstance(value, str) else "x" * several, name):
        return "it is an address, and addresses are not taken from a file"
    return None


def _packed(memory: Any, value: Any) -> Any:
    """A value as JSON, with the records themselves; text is never taken for a mark."""
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if kind is str:
        return _checked(plain(value))
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is MemoryRecord:
        whose = (value.agent, value.layer)
        if memory is None or whose == (memory.agent.unique_id, memory.layer):
            return value
        raise NotKept("it holds a record of another memory")
    if kind is dict:
        items = value.items()
        return {"dict": [[_packed(memory, part) for part in pair] for pair in items]}
    if kind in (set, frozenset):  # their own order changes from process to process
        try:
            value = sorted(value, key=lambda item: (type(item).__name__, item))
        except TypeError:
            raise NotKept("it holds a set whose items have no order") from None
    if kind in _NAMES:
        limit = {"most": value.maxlen} if kind is deque else {}
        return {_NAMES[kind]: [_packed(memory, item) for item in value], **limit}
    named = getattr(value, "__qualname__", None) or kind.__qualname__
    raise NotKept(f"an object ({named}) cannot be recorded")


def _checked(text: str) -> str:
    """A text, unless it is an address; a sentence may have one in it."""
    if " " not in text and is_address(text):
        raise NotKept("it holds an address, and addresses are not taken from a file")
    return text


def _unpacked(kept: Any) -> Any:
    """A value again; a record that was erased since is left out."""
    if not isinstance(kept, Mapping):
        return _checked(kept) if isinstance(kept, str) else kept
    if "float" in kept:
        return float(kept["float"])
    if "dict" in kept:
        pairs = [[_unpacked(part) for part in pair] for pair in kept["dict"]]
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
    for name, kind in _SEVERAL.items():
        if name in kept:
            items = [_unpacked(item) for item in kept[name]]
            return deque(items, kept.get("most")) if kind is deque else kind(items)
    raise ValueError(
        f"an attribute of a memory is {kept!r:.80}, which cannot be restored"
    )
