"""What is asked of a run in SQL, where it has no method for it."""

from collections.abc import Iterator, Sequence
from typing import Any

from mesa_memory.runs.catalog import About


class Statements(About):
    """A run's part of the tables in ``mesa_memory.stores.schema``.

    Statements are SQLAlchemy's. They see all runs of the store: what is meant has
    ``run == self.id``. An agent has a name there, which is always text.
    """

    @property
    def unique_ids(self) -> dict[str, Any]:
        """The agents so far: their names in the store, and their own ids, in order."""
        return dict(self._run.unique_ids())

    @property
    def names(self) -> dict[Any, str]:
        """What people call the agents that have a name of their own, by unique id."""
        return self._run.names()

    def name_of(self, agent: Any) -> str:
        """An agent's name in the store, by its unique id.

        Raises:
            ValueError: if the run has no such agent; names those it has.
        """
        return self._run.agent(agent)

    def rows(self, statement: Any) -> list[tuple]:
        """All rows of a statement, as they are in the store."""
        return self._reader.rows(statement)

    def records(self, statement: Any) -> list[dict[str, Any]]:
        """All rows of a statement by column, an ``agent`` as its unique id."""
        return self._run.table(statement).rows

    def chunks(self, statement: Any) -> Iterator[Sequence[Any]]:
        """The rows of a long answer, some thousands at a time."""
        return self._reader.chunks(statement)
