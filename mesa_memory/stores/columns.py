"""The types of columns that SQLite and PostgreSQL keep in different ways."""

import json
from typing import Any

import numpy as np
from sqlalchemy import JSON, LargeBinary, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, UserDefinedType

from mesa_memory.errors import StoreCorrupt


class Document(TypeDecorator):
    """JSON whose keys keep their order; None and JSON's null are both NULL."""

    impl = Text
    cache_ok = True
    postgres: type[Any] = JSON

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
        """The plain data again."""
        if value is None or dialect.name == "postgresql":
            return value
        try:
            return json.loads(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreCorrupt(
                f"a field that must hold JSON does not ({type(error).__name__}: "
                f"{error}). The file was changed or damaged; use a copy of it."
            ) from error


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
        if value is None or dialect.name != "postgresql":
            return value
        return np.array(value[1:-1].split(","), dtype="<f2").tobytes()


def vector_text(value: bytes) -> str:
    """Float16 bytes as pgvector writes a vector, exactly: ``[0.5,0.25]``."""
    return "[" + ",".join(map(repr, np.frombuffer(value, dtype="<f2").tolist())) + "]"
