"""Records over all steps, and in the words in which their agent is shown them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.core.content import by_id
from mesa_memory.core.events import event_text
from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import RECORD_CHARS
from mesa_memory.core.statement import also_said
from mesa_memory.core.wording import Voice
from mesa_memory.runs.queries import (
    COLUMNS,
    Queries,
    Versions,
    as_known,
    columns_of,
    held,
    wording_of,
)
from mesa_memory.runs.recorded import RecordedRun

records = schema.records
Row = dict[str, Any]


class Past:
    """All records that an agent ever had.

    Args:
        rows: with the columns of ``records``, in order of arrival.
        called: gives the name of an agent by its unique id.

    Attributes:
        called: as given.
        rows: the same; a ``content`` that is not a dict is an empty one.
        by_id: the same by their ids.
    """

    def __init__(
        self, rows: Iterable[Row], called: Callable[[Any], str] = by_id
    ) -> None:
        self.called = called
        self.rows = [
            row if isinstance(row["content"], dict) else row | {"content": {}}
            for row in rows
        ]
        self.by_id = {row["id"]: row for row in self.rows}
        self._versions = Versions(self.rows)

    def until(self, step: float) -> list[Row]:
        """The records until the end of a step, current and ended."""
        return [as_known(r, step) for r in self.rows if r["valid_from"] <= step]

    def at(self, step: float) -> list[Row]:
        """The records at the end of a step, as ``Run.state`` gives them."""
        known = self.until(step)
        return [r for r in known if r["valid_to"] is None or r["valid_to"] > step]

    def also_said(self, recalled: Mapping[str, Any]) -> str:
        """Who else said what was recalled; empty if it was said once."""
        ids, times = recalled.get("repetitions"), recalled.get("times")
        if not isinstance(ids, list) or not isinstance(times, int):
            return ""
        rows = [self.by_id[name] for name in ids if name in self.by_id]
        said = [(row["content"].get("sender"), row["step"]) for row in rows]
        return also_said(times, said, self.called)

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


def past(run: Queries, agent: Any) -> Past:
    """All records of an agent; each has ``told``, its text as the agent is shown it."""
    tell, rows = teller(run), run.records(held(run, agent))
    return Past((row | {"told": tell(row)} for row in rows), _naming(run.names))


def with_repetitions(run: Queries, rows: Iterable[Row]) -> list[Row]:
    """Rows of ``run.recalls`` whose texts say who else said so."""
    pasts: dict[Any, Past] = {}

    def told(row: Row) -> Row:
        if not row.get("times"):
            return row
        agent = row["agent"]
        if agent not in pasts:
            pasts[agent] = past(run, agent)
        return row | {"text": f"{row['text']} {pasts[agent].also_said(row)}"}

    return list(map(told, rows))


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


def teller(run: Queries) -> Callable[..., str]:
    """Tells records of a run, with the names and the prompt files that it was made with.

    Returns:
        A function of a record with ``agent`` (its name in the store), ``kind``,
        ``origin``, ``content`` and ``text``, and of the longest text in characters.
    """
    naming, wording, unique_ids = _naming(run.names), wording_of(run), run.unique_ids

    def tell(record: Mapping[str, Any], limit: int = RECORD_CHARS) -> str:
        content = record["content"]
        if record["origin"] == DERIVED or not isinstance(content, dict) or not content:
            return record["text"] or ""
        owner = unique_ids.get(str(record["agent"]))
        voice = Voice(naming, wording, owner, to_owner=True)
        return event_text(record["kind"], content, limit, voice)

    return tell


def told(run: Queries, ids: Iterable[str]) -> dict[str, str]:
    """The records among these ids in words, by id; see ``teller``."""
    tell = teller(run)
    return {id: tell(record) for id, record in to_be_told(run, ids)}


def to_be_told(run: Queries, ids: Iterable[str]) -> Iterator[tuple[str, Row]]:
    """The records among these ids, each after its id, as ``teller`` takes them."""
    names = ("agent", "kind", "origin", "content", "text")
    for id, *row in columns_of(run, list(ids), *(records.c[name] for name in names)):
        yield id, dict(zip(names, row))


def _naming(names: Mapping[Any, str]) -> Callable[[Any], str]:
    """Agents as prompts call them."""
    bearers = Counter(names.values())

    def called(agent: Any) -> str:
        name, plain = names.get(agent, ""), by_id(agent)
        if name in ("", plain, str(agent)):
            return plain
        return name if bearers[name] == 1 else f"{name} ({plain})"

    return called
