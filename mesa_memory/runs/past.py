"""Records over all steps: an agent's whole past, messages, and records of a kind."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.core.records import DERIVED
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.state import COLUMNS, as_known
from mesa_memory.runs.telling import teller
from mesa_memory.runs.versions import Versions

records = schema.records
Row = dict[str, Any]


class Past:
    """All records that an agent ever had.

    Args:
        rows: with the columns of ``records``, in order of arrival.

    Attributes:
        rows: the same; a ``content`` that is not a dict is an empty one.
        by_id: the same by their ids.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = [
            row if isinstance(row["content"], dict) else row | {"content": {}}
            for row in rows
        ]
        self.by_id = {row["id"]: row for row in self.rows}
        self._versions = Versions(self.rows)

    def until(self, step: float) -> list[Row]:
        """The records that came by the end of a step, also those that ended."""
        return [as_known(r, step) for r in self.rows if r["valid_from"] <= step]

    def at(self, step: float) -> list[Row]:
        """The records at the end of a step, as ``Run.state`` gives them."""
        known = self.until(step)
        return [r for r in known if r["valid_to"] is None or r["valid_to"] > step]

    def before(self, record: str) -> Row | None:
        """The version that a record replaced; None if it is the first one."""
        ids = self._versions.before.get(record, ())
        return self.by_id[ids[-1]] if ids else None

    def opened(self, after: float, step: float) -> list[Row]:
        """The records that were added since the end of the step before."""
        return [row for row in self.rows if after < row["valid_from"] <= step]

    def closed(self, after: float, step: float) -> list[Row]:
        """The records that ended since then; ``closed_because`` is the reason."""
        ends = [row for row in self.rows if row["valid_to"] is not None]
        return [row for row in ends if after < row["valid_to"] <= step]

    def made(self, step: float, kind: str | None = None) -> list[Row]:
        """All records that the memory itself made by the end of a step.

        Args:
            kind: only of this kind; None is all.
        """
        derived = [row for row in self.until(step) if row["origin"] == DERIVED]
        return [row for row in derived if kind in (None, row["kind"])]


def past(run: RecordedRun, agent: Any) -> Past:
    """All records of an agent; each has ``told``, its text as the agent is shown it."""
    wanted = select(*COLUMNS, records.c.graded_at).where(
        run.mine(records), records.c.agent == run.name_of(agent)
    )
    tell = teller(run)
    rows = run.records(wanted.order_by(records.c.seq))
    return Past(row | {"told": tell(row)} for row in rows)


def text_of(row: Row) -> str:
    """A record as its agent is shown it; empty if the run lacks it, as others' may."""
    return row.get("told") or row["text"] or ""


def messages(run: RecordedRun, after: int, until: int) -> list[dict[str, Any]]:
    """The records of messages with a ``seq`` from ``after + 1`` to ``until``, in order.

    Each has ``seq``, ``id``, ``agent``, ``content`` and ``origin``.
    """
    names = ("seq", "id", "agent", "content", "origin")
    new = records.c.seq > after, records.c.seq <= until, records.c.kind == "message"
    wanted = select(*(records.c[name] for name in names))
    rows = run.records(wanted.where(of_agents(run, records), *new))
    return sorted(rows, key=lambda row: row["seq"])


def of_kind(run: RecordedRun, kind: str) -> list[dict[str, Any]]:
    """All records of a kind, in order."""
    # From end to end: through an index this takes three times as long.
    own = records.c.run + 0 == run.id
    rows = run.records(select(*COLUMNS).where(own, records.c.kind == kind))
    return sorted(rows, key=lambda row: row["seq"])


def lives(run: RecordedRun) -> list[tuple]:
    """Seq, agent, kind, text, valid_from and valid_to of all records with a text."""
    names = ("seq", "agent", "kind", "text", "valid_from", "valid_to")
    # From end to end: through an index, every record takes ten times as long.
    own = records.c.run + 0 == run.id
    chunks = run.chunks(select(*(records.c[name] for name in names)).where(own))
    return sorted(tuple(row) for rows in chunks for row in rows if row[3])


def of_agents(run: RecordedRun, table: Any) -> Any:
    """The condition that a row is of the run, by its agents, as its index is.

    Of a join, SQLite would go through all rows of the run to find the new ones.
    """
    own = select(schema.agents.c.agent).where(run.mine(schema.agents))
    return run.mine(table) & table.c.agent.in_(own)
