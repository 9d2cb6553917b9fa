"""The views that have data in a run, and the agents and steps with the data of a view."""

from typing import Any

from sqlalchemy import Table, func, select

from mesa_memory.core.records import DERIVED
from mesa_memory.layers.facts.statement import KIND as FACT
from mesa_memory.runs import Run
from mesa_memory.stores import schema

records, recalls, calls = schema.records, schema.recalls, schema.calls
#: records of a run that are looked at; in a longer run every kind counts as present
MAX_RECORDS = 10_000
_NO_CALLS = (
    "No language model was asked in this run. Memories such as STLTMemory and "
    "EpisodicMemory ask one as soon as enough has happened, and agents of Mesa-LLM do."
)
#: view -> the reason why a run has no data for it
LACKS = {
    "conversations": "No agent of this run has heard or sent a message.",
    "facts": "No memory of this run writes facts; FactMemory does.",
    "chapters": "No memory of this run tells a story; NarrativeMemory does.",
    "recall": "No memory of this run ranks its records; EpisodicMemory does.",
    "evidence": "No memory of this run draws conclusions; STLTMemory and "
    "ImpressionMemory do.",
    "impressions": "No agent of this run has an impression of another one; "
    "ImpressionMemory makes them.",
    "decisions": "No agent of this run asked a language model itself, as agents of "
    "Mesa-LLM do.",
    "cost": _NO_CALLS,
    "requests": _NO_CALLS,
}
#: views of records -> their kinds; none: all that a memory made
KINDS = {
    "conversations": ("message",),
    "facts": (FACT,),
    "chapters": ("chapter", "story"),
    "evidence": (),
    "impressions": ("impression",),
}


def missing(run: Run) -> dict[str, str]:
    """The views without data in a run, each with the reason."""
    columns = (records.c.kind, records.c.origin)
    some = select(*columns).where(records.c.run == run.id).limit(MAX_RECORDS).subquery()
    rows = run.rows(select(*some.c, func.count()).group_by(*some.c))
    many = sum(count for *_, count in rows) >= MAX_RECORDS

    def lacks(view: str) -> bool:
        if view not in KINDS:
            return first(run, view) is None
        kinds = KINDS[view]
        known = (k in kinds if kinds else by == DERIVED for k, by, _ in rows)
        return not many and not any(known)

    found = {view: why for view, why in LACKS.items() if lacks(view)}
    if len(run.unique_ids) < 2:
        found["compare"] = "There is one agent in one run: nothing to compare it with."
    return found


def first(run: Run, view: str) -> tuple[Any, float] | None:
    """The first agent with data of a view, and the step; None without one."""
    table, step, where = _data(view)
    wanted = select(table.c.agent, step).where(table.c.run == run.id, *where)
    for agent, at in run.rows(wanted.order_by(table.c.seq).limit(1)):
        return run.unique_ids.get(agent), at
    return None


def steps(run: Run, view: str, agent: Any) -> list[float]:
    """The steps in which an agent got data of a view, in order."""
    table, step, where = _data(view)
    own = (table.c.run == run.id, table.c.agent == run.name_of(agent))
    return sorted(s for (s,) in run.rows(select(step).where(*own, *where).distinct()))


def memory_class(run: Run, agent: Any) -> str:
    """The name of an agent's class of memory."""
    own = schema.agents.c
    its = select(own.memory).where(own.run == run.id, own.agent == run.name_of(agent))
    return next((str(kind).rpartition(".")[2] for (kind,) in run.rows(its)), "")


def _data(view: str) -> tuple[Table, Any, list[Any]]:
    """The table of a view, its column of steps, and the conditions of a row."""
    if view == "recall":
        return recalls, recalls.c.step, []
    if view not in KINDS:
        own = [calls.c.decision.is_not(None)] if view == "decisions" else []
        return calls, calls.c.step, own
    kinds = KINDS[view]
    made = records.c.kind.in_(kinds) if kinds else records.c.origin == DERIVED
    return records, records.c.valid_from, [made]
