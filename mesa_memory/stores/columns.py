"""Values as every database can keep them, and types of columns.

PostgreSQL checks types by itself, and SQLite those of strict tables. What stands in a
column of JSON is checked when it is read, as a file may come from another person.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

from mesa_memory.core.text.redaction import REDACTED, scrub_json, secrets
from mesa_memory.errors import StoreCorrupt

#: JSON that is nested deeper than this was not written by this package
MAX_JSON_DEPTH = 100
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


Text, Integer = sa.Text, sa.Integer
#: a whole number of 64 bits
BigInteger = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Double(TypeDecorator):
    """A finite number; NaN and infinite ones are written as NULL."""

    impl, cache_ok = sa.Double, True
    place = "a column"

    def load_dialect_impl(self, dialect: Any) -> Any:
        """``REAL`` in SQLite, whose strict tables have no ``DOUBLE``."""
        kind: Any = sa.REAL() if dialect.name == "sqlite" else sa.Double()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        """The number; None for NaN and infinite ones."""
        return value if value is None or math.isfinite(value) else None

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """The number.

        Raises:
            StoreCorrupt: if it is infinite, or anything else.
        """
        number = isinstance(value, int | float) and math.isfinite(value)
        if value is None or number:
            return value
        raise wrong(self.place, "a finite number", value)


class Boolean(TypeDecorator):
    """True or false; 1 or 0 in SQLite."""

    impl, cache_ok = sa.Boolean, True

    def load_dialect_impl(self, dialect: Any) -> Any:
        """An integer in SQLite, whose strict tables have no ``BOOLEAN``."""
        kind: Any = sa.Integer() if dialect.name == "sqlite" else sa.Boolean()
        return dialect.type_descriptor(kind)

    def process_result_value(self, value: Any, dialect: Any) -> bool | None:
        """True or False; None is NULL."""
        return None if value is None else bool(value)


def wrong(place: str, wanted: str, value: Any) -> StoreCorrupt:
    """The error for a value that does not belong where it is."""
    return StoreCorrupt(
        f"{place} holds {value!r:.60}, not {wanted}. The file was changed or damaged; "
        "restore a backup."
    )


def is_too_deep(value: Any) -> bool:
    """True for plain data that is nested deeper than ``MAX_JSON_DEPTH``."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            item
            for one in level
            if isinstance(one, list | dict)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


class Document(TypeDecorator):
    """JSON whose keys keep their order; None and JSON's null are both NULL.

    Args:
        holds: what it is, such as ``dict``; None is anything.
        each: what each item of a list is; None is anything.
    """

    impl = sa.Text
    cache_ok = True
    postgres: type[Any] = sa.JSON
    place = "a column"

    def __init__(self, holds: Any = None, each: Any = None) -> None:
        super().__init__()
        self.holds, self.each = holds, each

    def load_dialect_impl(self, dialect: Any) -> Any:
        """``json`` in PostgreSQL, text in SQLite."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(self.postgres(none_as_null=True))
        return dialect.type_descriptor(sa.Text())

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        """The value as JSON."""
        if value is None or dialect.name == "postgresql":
            return value  # see ``json_serializer`` of its engine
        return json_text(value)

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """The plain data again.

        Raises:
            StoreCorrupt: if it is anything other than what belongs there.
        """
        if value is None:
            return None
        found = value if dialect.name == "postgresql" else self._loaded(value)
        if found is None or self._right(found):
            return found
        each = f" of {_named(self.each)}" if self.each else ""
        wanted = f"{_named(self.holds)}{each}" if self.holds else "plain data"
        raise wrong(self.place, f"JSON of {wanted}", value)

    def _loaded(self, value: Any) -> Any:
        try:
            return json.loads(value, parse_constant=_refused)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreCorrupt(
                f"{self.place} must hold JSON, and holds {value!r:.60} "
                f"({type(error).__name__}: {error!s:.80}). The file was changed or "
                "damaged; restore a backup."
            ) from error

    def _right(self, found: Any) -> bool:
        if self.holds and not isinstance(found, self.holds):
            return False
        if self.each and not all(isinstance(item, self.each) for item in found):
            return False
        return not isinstance(found, list | dict) or not is_too_deep(found)


def _named(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


class Searchable(Document):
    """JSON that queries look into: ``jsonb`` in PostgreSQL."""

    cache_ok = True
    postgres = JSONB


# -- values ---------------------------------------------------------------------------


def clean_rows(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    r"""Rows of plain data without known secrets.

    NUL and lone surrogates, which PostgreSQL cannot keep, become ``"\ufffd"``.

    Raises:
        TypeError: for anything but plain data.
    """
    try:
        text = orjson.dumps(rows)
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
    if value is None or isinstance(value, int):
        return value
    raise TypeError(f"{type(value).__name__} is not plain data: {value!r:.80}")


def json_text(value: Any) -> str:
    """Plain data as JSON; NaN and infinite numbers become null."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a long integer or a key that is not text
        return json.dumps(storable(value), ensure_ascii=False, allow_nan=False)
