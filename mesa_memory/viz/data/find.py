"""One search over agents, steps, kinds and texts of a run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from mesa_memory.core.records import DERIVED
from mesa_memory.core.text.naming import name_key
from mesa_memory.runs import Run
from mesa_memory.stores import schema

records = schema.records
#: number of agents and of texts that are listed
MAX_AGENTS = 20
MAX_TEXTS = 200
#: characters of a text that are listed
LISTED_CHARS = 240
#: before the name of a kind: all records of it
KIND = "kind:"


@dataclass(frozen=True)
class Hit:
    """A result of the search.

    Attributes:
        what: ``"agent"``, ``"step"``, ``"kind"``, or the kind of a record.
        text: its label, or the beginning of a record's text.
        step: of a record or step; of a kind, the first one.
        agent: unique id of the agent, or of the record's agent.
        record: id, if it is one.
        derived: the record was concluded from others.
    """

    what: str
    text: str
    step: float | None = None
    agent: Any = None
    record: str | None = None
    derived: bool = False


@dataclass(frozen=True)
class Hits:
    """Results: agents, steps, kinds, then records, oldest first.

    Attributes:
        hits: the listed ones.
        more: number of further records.
    """

    hits: tuple[Hit, ...]
    more: int


def find(run: Run, text: str) -> Hits:
    """The agents, steps, kinds and records with this text; case does not matter.

    Args:
        run: all its steps are searched.
        text: of an agent's name, a kind, a remembered text; a number is also a step, and
            ``kind:reflection`` stands for all records of a kind.
    """
    text = text.strip()
    if not text:
        return Hits((), 0)
    if text.startswith(KIND):
        return _records(run, records.c.kind == text.removeprefix(KIND).strip())
    listed = _records(run, _like(records.c.text, text))
    others = (*_agents(run, text), *_steps(run, text), *_kinds(run, text))
    return Hits((*others, *listed.hits), listed.more)


def _agents(run: Run, text: str) -> list[Hit]:
    wanted, names, hits = name_key(text), run.names, []
    for agent in run.unique_ids.values():
        name = names.get(agent, "")
        own = wanted in (name_key(str(agent)), name_key(f"agent {agent}"))
        if own or wanted in name_key(name):
            label = f"{name} ({agent})" if name else str(agent)
            hits.append(Hit("agent", label, agent=agent))
    return hits[:MAX_AGENTS]


def _steps(run: Run, text: str) -> Iterator[Hit]:
    words = text.casefold().removeprefix("step").strip()
    for step in run.steps:
        if words == f"{step:.15g}":
            yield Hit("step", f"step {step:.15g}", step)


def _kinds(run: Run, text: str) -> Iterator[Hit]:
    counted = (
        select(records.c.kind, func.count(), func.min(records.c.step))
        .where(records.c.run == run.id, _like(records.c.kind, text))
        .group_by(records.c.kind)
        .order_by(records.c.kind)
    )
    for kind, count, first in run.rows(counted):
        yield Hit("kind", f"{kind}: {count:,} records", first, record=kind)


def _records(run: Run, condition: Any) -> Hits:
    """Records as the listed hits, and how many more there are."""
    where = (records.c.run == run.id, condition)
    wanted = (
        select(
            records.c.agent, records.c.kind, records.c.step, records.c.id,
            records.c.origin, records.c.valid_from,
            func.substr(records.c.text, 1, LISTED_CHARS).label("text"),
        )
        .where(*where)
        .order_by(records.c.seq)
        .limit(MAX_TEXTS)
    )  # fmt: skip
    rows = run.records(wanted)
    hits = tuple(
        Hit(
            row["kind"], row["text"] or "", row["valid_from"], row["agent"], row["id"],
            row["origin"] == DERIVED,
        )
        for row in rows
    )  # fmt: skip
    ((total,),) = run.rows(select(func.count()).select_from(records).where(*where))
    return Hits(hits, total - len(hits))


def _like(column: Any, text: str) -> Any:
    return column.icontains(text, autoescape=True)
