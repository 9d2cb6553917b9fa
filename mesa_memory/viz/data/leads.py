"""Where there is something of a sort: what an empty view offers instead."""

from typing import Any

from sqlalchemy import select

from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.stores import schema

records, recalls = schema.records, schema.recalls


def first_conclusion(run: Run, agent: Any = None) -> tuple[Any, float] | None:
    """Who concluded something first, and the step; None if nobody did.

    Args:
        run: all its steps count.
        agent: only this one.
    """
    where = [records.c.run == run.id, records.c.origin == DERIVED]
    if agent is not None:
        where.append(records.c.agent == run.name_of(agent))
    wanted = select(records.c.agent, records.c.valid_from).where(*where)
    first = wanted.order_by(records.c.valid_from, records.c.seq).limit(1)
    for row in run.records(first):
        return row["agent"], row["valid_from"]
    return None


def first_recall(run: Run) -> tuple[Any, float] | None:
    """Who recalled something first, and the step; None if nobody did."""
    wanted = select(recalls.c.agent, recalls.c.step).where(recalls.c.run == run.id)
    for row in run.records(wanted.order_by(recalls.c.seq).limit(1)):
        return row["agent"], row["step"]
    return None


def first_words(run: Run) -> str:
    """What somebody said first, without who it was; empty if nobody said anything."""
    wanted = select(records.c.text).where(
        records.c.run == run.id, records.c.kind == "message"
    )
    for (text,) in run.rows(wanted.order_by(records.c.seq).limit(1)):
        return (text or "").partition(" says: ")[2] or text or ""
    return ""
