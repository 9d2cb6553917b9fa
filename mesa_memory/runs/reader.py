"""Reads a store: statements in, rows out."""

from collections.abc import Iterator, Sequence
from typing import Any

from mesa_memory.runs.table import Table
from mesa_memory.stores.sql import Store

#: how many rows are fetched at once from a long answer
CHUNK = 10_000


class Reader:
    """A store that is only read; each statement sees one state of it.

    Args:
        store: its faults come as ``StoreError``.
        lent: it belongs to someone else, who closes it.
    """

    def __init__(self, store: Store, lent: bool = False) -> None:
        self._store, self._lent = store, lent

    @property
    def location(self) -> str:
        """Path or address, without password."""
        return self._store.location

    @property
    def dialect(self) -> str:
        """``"sqlite"`` or ``"postgresql"``."""
        with self._store.reading() as connection:
            return connection.dialect.name

    def rows(self, statement: Any) -> list[tuple]:
        """All rows of a statement."""
        with self._store.reading() as connection:
            return [tuple(row) for row in connection.execute(statement).all()]

    def table(self, statement: Any) -> Table:
        """All rows of a statement, with the names of its columns."""
        with self._store.reading() as connection:
            result = connection.execute(statement)
            columns = tuple(result.keys())
            return Table(columns, [dict(zip(columns, row)) for row in result.all()])

    def chunks(self, statement: Any) -> Iterator[Sequence[Any]]:
        """The rows of a long answer, some thousands at a time."""
        with self._store.reading() as connection:
            ready = connection.execution_options(yield_per=CHUNK)
            yield from ready.execute(statement).partitions()

    def close(self) -> None:
        """Lets go of the store."""
        if not self._lent:
            self._store.close()
