"""Rows as one JSON text per table: what a statement takes in a single call.

A database module that is called once for each row makes the simulation's thread wait
for the interpreter's lock each time. One text and one statement need it once.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from mesa_memory.core.text.redaction import scrub_json

#: a text of more bytes than this is split, as databases limit their parameters
TEXT_BYTES = 16 * 2**20
#: most rows in one text: the process stands still while it is made
TEXT_ROWS = 5_000
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def texts(rows: Sequence[Any], embedding: Callable[[bytes], Any]) -> Iterator[bytes]:
    r"""The rows as JSON arrays, in order.

    NUL and lone surrogates, which PostgreSQL cannot keep, become ``"\ufffd"``; NaN
    and infinite numbers become null.

    Args:
        rows: dicts or lists of plain data.
        embedding: gives what stands for the bytes of a vector.
    """
    pending = [rows[i : i + TEXT_ROWS] for i in range(0, len(rows), TEXT_ROWS)][::-1]
    while pending:
        part = pending.pop()
        text = _text(part, embedding)
        if len(text) > TEXT_BYTES and len(part) > 1:
            half = len(part) // 2
            pending += [part[half:], part[:half]]
        else:
            yield text


def _text(rows: Sequence[Any], embedding: Callable[[bytes], Any]) -> bytes:
    try:
        text = orjson.dumps(rows, default=embedding)
    except TypeError:  # a lone surrogate, a long integer or a key that is no text
        text = b"\\u0000"
    if b"\\u0000" in text:
        clean = storable(rows, embedding)
        text = json.dumps(clean, ensure_ascii=False, allow_nan=False).encode()
    return scrub_json(text)


def storable(value: Any, embedding: Callable[[bytes], Any]) -> Any:
    """Plain data as every database can keep it; see ``texts``."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        # Keys as the json module writes them, but never NaN.
        return {
            _UNSTORABLE.sub("\ufffd", key) if isinstance(key, str) else key: storable(
                item, embedding
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable(item, embedding) for item in value]
    if isinstance(value, bytes):
        return embedding(value)
    if value is None or isinstance(value, int):
        return value
    raise TypeError(f"{type(value).__name__} is no plain data: {value!r:.80}")


class Blobs:
    """The vectors of some rows, end to end, with where each begins."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, value: Any) -> list[int]:
        """Keeps the bytes; their place as SQL counts, and their length.

        Raises:
            TypeError: for anything but bytes.
        """
        if not isinstance(value, bytes):
            raise TypeError(f"{type(value).__name__} is no plain data: {value!r:.80}")
        start = self._length + 1
        self._parts.append(value)
        self._length += len(value)
        return [start, len(value)]

    def taken(self) -> bytes:
        """All of them; empty again afterwards."""
        whole = b"".join(self._parts)
        self.__init__()  # type: ignore[misc]
        return whole
