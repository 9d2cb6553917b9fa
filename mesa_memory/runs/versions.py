"""The versions of a record, and the operation that made each.

A record takes the place of another one that names it (``superseded_by``). It also does if
it was made from the other one, has the same kind, layer and subject, and begins at the
step at which the other one ended. Operations have the names that mem0 gives them: ADD, UPDATE, DELETE, and
NONE for a new version that says the same.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.state import COLUMNS
from mesa_memory.runs.table import Table, table

records = schema.records
SHOWN_COLUMNS = (
    "step", "operation", "id", "previous", "text", "because", "by", "agent", "layer",
    "kind", "origin", "subject", "importance", "valid_from", "valid_to", "seq",
)  # fmt: skip


def history(
    run: RecordedRun,
    record: str | None,
    agent: Any,
    layer: str | None,
    kind: str | None,
) -> Table:
    """See ``Run.history``."""
    if (record is None) == (agent is None):
        raise ValueError(
            "history needs a record's id or an agent, one of them; got "
            f"record {record!r}, agent {agent!r}"
        )
    wanted = select(*COLUMNS).where(run.mine(records)).order_by(records.c.seq)
    if record is not None:
        own = run_record(run, record)
        # Versions of a record stand beside it, so these few rows are enough.
        agent, layer, kind = own["agent"], own["layer"], own["kind"]
    wanted = wanted.where(records.c.agent == run.name_of(agent))
    for column, value in ((records.c.layer, layer), (records.c.kind, kind)):
        if value is not None:
            wanted = wanted.where(column == value)
    rows = run.table(wanted).rows
    versions = Versions(rows)
    if record is not None:
        chain = versions.chain(record)
        rows = [row for row in rows if row["id"] in chain]
    return table(SHOWN_COLUMNS, versions.operations(rows))


def run_record(run: RecordedRun, name: str) -> dict[str, Any]:
    """A record by its id.

    Raises:
        ValueError: if the run lacks it; shows an id.
    """
    of_run = select(*COLUMNS).where(run.mine(records))
    found = run.table(of_run.where(records.c.id == name)).rows
    if not found:
        some = run.table(of_run.limit(1)).rows
        like = f", such as {some[0]['id']!r}" if some else "; it has none"
        raise ValueError(
            f"run {run.id} has no record {name!r}. Ids are "
            f"'agent/layer/kind/number'{like}"
        )
    return found[0]


def source_ids(row: dict[str, Any]) -> list[str]:
    """The ids of the records that a record was made from, each once."""
    given = row["sources"]
    named = given if isinstance(given, list) else []
    return list(dict.fromkeys(name for name in named if isinstance(name, str)))


class Versions:
    """The successions among some records.

    Args:
        rows: records of one agent, in order of ``seq``.
    """

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = {row["id"]: row for row in rows}
        self.before: dict[str, list[str]] = defaultdict(list)
        self.after: dict[str, list[str]] = defaultdict(list)
        for row in self._rows.values():
            self._link(row, self._rows.get(row["superseded_by"]))
            for name in source_ids(row):
                old = self._rows.get(name)
                if old and not old["superseded_by"] and _ended_as_began(old, row):
                    self._link(old, row)

    def _link(self, old: dict[str, Any], new: dict[str, Any] | None) -> None:
        if new is None or any(old[n] != new[n] for n in ("kind", "layer", "subject")):
            return
        self.before[new["id"]].append(old["id"])
        self.after[old["id"]].append(new["id"])

    def chain(self, record: str) -> set[str]:
        """The ids of a record, of those before it and of those after it."""
        found = {record}
        for links in (self.before, self.after):
            seen, waiting = {record}, [record]
            while waiting:
                new = [n for n in links.get(waiting.pop(), ()) if n not in seen]
                seen.update(new)
                waiting.extend(new)
            found |= seen
        return found

    def operations(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The operations that made and ended these records, oldest first."""
        found = []
        for row in rows:
            found.append(self._opening(row))
            if row["valid_to"] is not None and not self.after.get(row["id"]):
                found.append(self._ending(row))
        # A stable sort: of one step, openings in order of arrival, then endings.
        return sorted(found, key=lambda o: (o["step"], o["operation"] == "DELETE"))

    def _opening(self, row: dict[str, Any]) -> dict[str, Any]:
        previous = self.before.get(row["id"], [])
        operation = "UPDATE" if previous else "ADD"
        if len(previous) == 1:
            old = self._rows[previous[0]]
            same = all(old[n] == row[n] for n in ("text", "content"))
            operation = "NONE" if same else operation
        return row | {
            "step": row["valid_from"],
            "operation": operation,
            "previous": previous,
            "because": None,
            "by": None,
        }

    def _ending(self, row: dict[str, Any]) -> dict[str, Any]:
        return row | {
            "step": row["valid_to"],
            "operation": "DELETE",
            "previous": [row["id"]],
            "because": row["closed_because"],
            "by": row["superseded_by"],
        }


def _ended_as_began(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return old["valid_to"] is not None and old["valid_to"] == new["valid_from"]
