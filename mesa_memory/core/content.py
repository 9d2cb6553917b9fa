"""Event content as plain data: copied, JSON-ready and the same in every process.

What is stored must not change when the caller goes on using its objects, must not hold
agents or models alive, and must not put a memory address into a prompt.
"""

import enum
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

#: nested content deeper than this is shown as text
MAX_DEPTH = 12

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ATOMS = frozenset({float, bool, type(None)})
#: Python refuses to write longer integers as text
_LONG = 10**4000
_ADDRESS = re.compile(r"(?: object)? at 0x[0-9a-fA-F]+")


def plain(value: Any, depth: int = 0) -> Any:
    r"""A copy of ``value`` made of dict, list, tuple, str, numbers, bool and None.

    Sets are sorted, arrays become lists, agents become ``"ClassName 7"``, NUL and lone
    surrogates become ``"\ufffd"``, and any other object its text without address.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is int:
        return value if -_LONG < value < _LONG else _long_text(value)
    if kind is str:
        return _encodable(value)
    if depth >= MAX_DEPTH:
        return _text(value)
    depth += 1
    if kind is dict or isinstance(value, Mapping):
        return _plain_dict(value, depth)
    if kind is list or kind is tuple:
        return kind([plain(item, depth) for item in value])
    return _other(value, depth)


def _plain_dict(value: Mapping, depth: int) -> dict:
    copied = {}
    for key, item in value.items():
        # Most keys and values are short ASCII texts and numbers: no call for those.
        kind = type(item)
        if kind is dict and depth < MAX_DEPTH:
            copy = _plain_dict(item, depth + 1)
        elif kind in _ATOMS or (kind is str and item.isascii() and "\0" not in item):
            copy = item
        else:
            copy = plain(item, depth)
        copied[key if type(key) is str and key.isascii() else _key(key)] = copy
    return copied


def _other(value: Any, depth: int) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), depth + 1)
    if isinstance(value, enum.Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, str | int | float):
        return plain(_base(value), depth)
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth + 1) for item in value), key=_order)
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    name = _unique_id(value)
    if name is not None:
        return f"{type(value).__name__} {name}"
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), depth + 1) for f in fields(value)}
    return _text(value)


def _unique_id(value: Any) -> Any:
    """An agent's id; None for what has none, or cannot be looked at."""
    try:
        return getattr(value, "unique_id", None)
    except Exception:  # a user's __getattr__ may do anything
        return None


def _long_text(value: int) -> str:
    return f"an integer of {value.bit_length()} bits"


def _base(value: str | int | float) -> str | int | float:
    """A subclass instance as its builtin; a bool never comes here."""
    for builtin in (str, int, float):
        if isinstance(value, builtin):
            return builtin(value)
    raise AssertionError(value)


def _key(key: Any) -> str | int | float | bool | None:
    if isinstance(key, str):
        return _encodable(key)
    if key is None or isinstance(key, bool | int):
        return key
    if isinstance(key, float) and math.isfinite(key):
        return key
    return str(plain(key))


def _order(value: Any) -> tuple[str, Any]:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return ("", value) if numeric else (type(value).__name__, str(value))


def _encodable(text: str) -> str:
    """Without what no file and no database can keep."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def _text(value: Any) -> str:
    """The object's own text; a default one loses its memory address."""
    try:
        text = str(value)
    except Exception as error:  # a user's __str__ may do anything
        text = f"<{type(value).__name__}: no text, {type(error).__name__}>"
    return _encodable(_ADDRESS.sub("", text))
