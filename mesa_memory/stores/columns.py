"""The types of columns that SQLite and PostgreSQL keep in different ways."""

import json
from typing import Any

import numpy as np
from sqlalchemy import JSON, LargeBinary, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, UserDefinedType

from mesa_memory.errors import StoreCorrupt
from mesa_memory.stores.checked import too_deep, wrong


class Document(TypeDecorator):
    """JSON whose keys keep their order; None and JSON's null are both NULL.

    Args:
        holds: what it is, such as ``dict``; None is anything.
        each: what each item of a list is; None is anything.
    """

    impl = Text
    cache_ok = True
    postgres: type[Any] = JSON
    place = "a column"

    def __init__(self, holds: Any = None, each: Any = None) -> None:
        super().__init__()
        self.holds, self.each = holds, each

    def load_dialect_impl(self, dialect: Any) -> Any:
        """``json`` in PostgreSQL, text in SQLite."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(self.postgres(none_as_null=True))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        """The value as JSON."""
        if value is None or dialect.name == "postgresql":
            return value
        return json.dumps(value, ensure_ascii=False)

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
        return not isinstance(found, list | dict) or not too_deep(found)


def _named(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


class Searchable(Document):
    """JSON that queries look into: ``jsonb`` in PostgreSQL."""

    cache_ok = True
    postgres = JSONB


class _HalfVector(UserDefinedType):
    """The type ``halfvec`` of pgvector, of any length."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "halfvec"


class Embedding(TypeDecorator):
    """A vector as bytes of little-endian float16; ``halfvec`` in PostgreSQL."""

    impl = LargeBinary
    cache_ok = True
    place = "a column"

    def load_dialect_impl(self, dialect: Any) -> Any:
        """``halfvec`` in PostgreSQL, a BLOB in SQLite."""
        kind = _HalfVector() if dialect.name == "postgresql" else LargeBinary()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        """The vector as the database takes it."""
        if value is None or dialect.name != "postgresql":
            return value
        return vector_text(value)

    def process_result_value(self, value: Any, dialect: Any) -> bytes | None:
        """The vector as bytes, whatever the database."""
        if value is None:
            return value
        if dialect.name != "postgresql":
            if isinstance(value, bytes) and not len(value) % 2:
                return value
            raise wrong(self.place, "a vector of float16", value)
        return np.array(value[1:-1].split(","), dtype="<f2").tobytes()


def vector_text(value: bytes) -> str:
    """Float16 bytes as pgvector writes a vector, exactly: ``[0.5,0.25]``."""
    return "[" + ",".join(map(repr, np.frombuffer(value, dtype="<f2").tolist())) + "]"
