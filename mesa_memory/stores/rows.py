"""Rows as every database can keep them, without secrets."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import orjson

from mesa_memory.core.text.redaction import REDACTED, scrub_json, secrets

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_rows(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    r"""Rows of plain data without known secrets.

    NUL and lone surrogates, which PostgreSQL cannot keep, become ``"\ufffd"``.

    Raises:
        TypeError: for anything but plain data and bytes.
    """
    try:
        text = orjson.dumps(rows, default=_embedding)
    except TypeError:  # a lone surrogate, a long integer or a key that is not text
        return storable(rows)
    clean = b"\\u0000" not in text and scrub_json(text) == text
    return rows if clean else storable(rows)


def storable(value: Any) -> Any:
    """Plain data as every database can keep it; see ``clean_rows``."""
    if isinstance(value, str):
        for secret in secrets():
            value = value.replace(secret, REDACTED)
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {
            storable(key) if isinstance(key, str) else key: storable(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if value is None or isinstance(value, int | bytes):
        return value
    raise TypeError(f"{type(value).__name__} is not plain data: {value!r:.80}")


def json_text(value: Any) -> str:
    """Plain data as JSON; NaN and infinite numbers become null."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a long integer or a key that is not text
        return json.dumps(storable(value), ensure_ascii=False, allow_nan=False)


def _embedding(value: Any) -> None:
    """Accepts the bytes of an embedding, which are not text."""
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is not plain data: {value!r:.80}")
