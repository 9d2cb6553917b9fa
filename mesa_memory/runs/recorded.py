"""One run of a store, and the answers of its queries."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy import Table as SQLTable

import mesa_memory.stores.schema as schema
from mesa_memory.core.content import one_line, storable
from mesa_memory.core.text.naming import with_name
from mesa_memory.stores.sql import Store

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Table:
    """Rows with the same keys.

    Attributes:
        columns: the keys in order, also without rows.
        rows: one dict for each.
    """

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> "Table":
        """A table with the columns of the rows; without rows, it is empty."""
        return cls(tuple(rows[0]) if rows else (), rows)

    def as_frame(self) -> "pandas.DataFrame":
        """As a DataFrame with a row number as index."""
        import pandas

        values = [tuple(row.values()) for row in self.rows]
        return pandas.DataFrame.from_records(values, columns=list(self.columns))

    def given(self, as_records: bool) -> Any:
        """The rows as a list of dicts if ``as_records``, else a DataFrame."""
        return self.rows if as_records else self.as_frame()


def table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> Table:
    """A table of these columns of the rows, in this order."""
    return Table(columns, [{name: row[name] for name in columns} for row in rows])


#: rows that are fetched at once from a long answer
CHUNK_ROWS = 10_000
#: most names that a message lists
LISTED_NAMES = 12


class RecordedRun:
    """A run in a store, which is only read; each statement sees one state of it.

    Statements are SQLAlchemy's, over the tables of ``mesa_memory.stores.schema``. They
    see all runs of the store: for this one, ``run == self.id``. An agent has a name
    there, which is always text.

    Attributes:
        id: the run's number in its store.
        store: its errors are ``StoreError``.
        location: path or address of the store, without password.
    """

    def __init__(self, store: Store, number: int) -> None:
        self.store, self.id = store, number
        self.location = store.location
        self._unique_ids: dict[str, Any] = {}

    def rows(self, statement: Any) -> list[tuple]:
        """All rows of a statement, as they are in the store."""
        with self.store.reading() as connection:
            return [tuple(row) for row in connection.execute(statement).all()]

    def chunks(self, statement: Any) -> Iterator[Sequence[Any]]:
        """The rows of a long answer, some thousands at a time."""
        with self.store.reading() as connection:
            ready = connection.execution_options(yield_per=CHUNK_ROWS)
            yield from ready.execute(statement).partitions()

    def records(self, statement: Any) -> list[dict[str, Any]]:
        """All rows of a statement by column, an ``agent`` as its unique id."""
        return self.table(statement).rows

    def mine(self, table: SQLTable) -> ColumnElement[bool]:
        """The condition that a row of ``table`` is of this run."""
        return table.c.run == self.id

    def table(self, statement: Any) -> Table:
        """The rows of a statement; ``agent`` in its original type."""
        found = table_of(self.store, statement)
        if "agent" in found.columns:
            for row in found.rows:
                row["agent"] = self.unique_id(row["agent"])
        return found

    @property
    def unique_ids(self) -> dict[str, Any]:
        """The agents so far: their names in the store, and their own ids, in order."""
        of = schema.agents
        found = self.rows(select(of.c.agent, of.c.unique_id).where(self.mine(of)))
        known = [
            (own if isinstance(own, str | int | float) else name, name)
            for name, own in found
        ]
        known.sort(key=lambda one: (isinstance(one[0], str), one))
        self._unique_ids = {name: own for own, name in known}
        return self._unique_ids

    @property
    def names(self) -> dict[Any, str]:
        """The names of agents that have one, by unique id."""
        of = schema.agents
        found = self.rows(select(of.c.agent, of.c.name).where(self.mine(of)))
        called = {name: one_line(text) for name, text in found if text is not None}
        ids = self.unique_ids.items()
        return {own: called[name] for name, own in ids if name in called}

    @property
    def memory_classes(self) -> list[str]:
        """The classes of the agents' memories, sorted."""
        of = schema.agents
        found = self.rows(select(of.c.memory).where(self.mine(of)).distinct())
        return sorted(str(memory) for (memory,) in found)

    def unique_id(self, name: str) -> Any:
        """An agent's own id; its name in the store if it is not known otherwise."""
        if name not in self._unique_ids:
            # Also in a run that is still going on: each name is looked up once.
            self._unique_ids = {name: name} | self.unique_ids
        return self._unique_ids[name]

    def name_of(self, given: Any) -> str:
        """An agent's name in the store, by its unique id, or by its own name.

        Raises:
            ValueError: if the run lacks the agent, or has several of that name; lists
                its agents.
        """
        name = storable(str(given))
        if name not in self._unique_ids and name not in self.unique_ids:
            called = with_name(self.names, name)
            if len(called) == 1:
                return str(called[0])
            if called:
                raise ValueError(
                    f"run {self.id} has {len(called)} agents named {name!r}: "
                    f"{listed(map(str, called))}; give the unique id of one"
                )
            raise ValueError(
                f"run {self.id} has no agent {given!r}; its agents are "
                f"{listed(self._unique_ids)}"
            )
        return name

    @property
    def steps(self) -> list[float]:
        """The finished steps, in order."""
        return self.store.steps(self.id)

    def step(self, given: Any) -> float:
        """A finished step; None is the last one.

        Raises:
            ValueError: if it is not a finished step; lists the finished steps.
        """
        if isinstance(given, Real) and not math.isfinite(given):
            given = repr(given)
        finished = self.steps
        if given is None and finished:
            return finished[-1]
        if isinstance(given, bool) or given not in finished:
            what = (
                "any finished step" if given is None else f"the finished step {given!r}"
            )
            raise ValueError(
                f"run {self.id} does not have {what}; finished are {listed(finished)}"
            )
        return float(given)


def logged(
    run: RecordedRun,
    log: SQLTable,
    agent: Any,
    step: Any,
    columns: Iterable[ColumnElement[Any]] | None = None,
) -> Select[Any]:
    """The query for the rows of a log, also of unfinished steps, in order.

    Args:
        agent, step: whose rows, and of which step; None is all.
        columns: of the log; None is all but the run.
    """
    if columns is None:
        columns = [column for column in log.columns if column.name != "run"]
    wanted = select(*columns).where(run.mine(log))
    if agent is not None:
        wanted = wanted.where(log.c.agent == run.name_of(agent))
    if step is not None:
        wanted = wanted.where(log.c.step == run.step(step))
    # By the bare column SQLite would rather walk through the whole run than sort a few.
    return wanted.order_by(log.c.seq + 0)


def table_of(store: Store, statement: Any) -> Table:
    """All rows of a statement, with the names of its columns."""
    with store.reading() as connection:
        result = connection.execute(statement)
        columns = tuple(result.keys())
        return Table(columns, [dict(zip(columns, row)) for row in result.all()])


def listed(things: Iterable[Any]) -> str:
    """The first of them and the last, with commas."""
    shown = [f"{t:g}" if isinstance(t, float) else str(t)[:40] for t in things]
    if len(shown) > LISTED_NAMES:
        shown = [*shown[: LISTED_NAMES - 1], f"… ({len(shown)} in all) …", shown[-1]]
    return ", ".join(shown) or "none"
