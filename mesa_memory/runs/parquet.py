"""Tables as Parquet files, with pyarrow."""

import json
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Column, Table

import mesa_memory.stores.columns as columns
from mesa_memory.errors import MissingExtra


def writer() -> Callable[[Path, Table, Iterator[Sequence[Any]]], None]:
    """A function that writes a table's rows into a file.

    Raises:
        MissingExtra: if pyarrow is not installed.
    """
    try:
        pyarrow = import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra("pyarrow", "parquet") from error

    def write(path: Path, table: Table, chunks: Iterator[Sequence[Any]]) -> None:
        kinds = [(column.name, _kind(pyarrow, column)) for column in table.columns]
        names = pyarrow.schema(kinds)
        with parquet.ParquetWriter(path, names, compression="zstd") as file:
            for rows in chunks:
                filled = [
                    pyarrow.array([_plain(value, column) for value in values], kind)
                    for values, column, (_, kind) in zip(
                        zip(*rows), table.columns, kinds
                    )
                ]
                file.write_table(pyarrow.Table.from_arrays(filled, schema=names))

    return write


def _kind(pyarrow: Any, column: Column) -> Any:
    """The type of a column."""
    if isinstance(column.type, columns.Embedding):
        return pyarrow.list_(pyarrow.float32())
    for kind, arrow in (
        (columns.Boolean, pyarrow.bool_()),
        (columns.Integer, pyarrow.int64()),
        (columns.BigInteger, pyarrow.int64()),
        (columns.Double, pyarrow.float64()),
    ):
        if isinstance(column.type, kind):
            return arrow
    return pyarrow.string()


def _plain(value: Any, column: Column) -> Any:
    """A value as the column takes it."""
    if value is None:
        return None
    if isinstance(column.type, columns.Document):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(column.type, columns.Embedding):
        return np.frombuffer(value, dtype="<f2").astype(np.float32)
    if isinstance(value, str):
        # A lone surrogate, which UTF-8 has not.
        return value.encode("utf-8", "backslashreplace").decode()
    return value
