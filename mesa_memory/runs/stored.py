"""The runs of a store: an overview, and the row of one."""

from typing import Any

from sqlalchemy import func, select

import mesa_memory.stores.schema as schema
from mesa_memory.core.arguments import readable
from mesa_memory.runs.recorded import table_of
from mesa_memory.runs.table import Table
from mesa_memory.stores.sql import Store

runs, steps, agents = schema.runs, schema.steps, schema.agents
calls = schema.calls


def overview(store: Store) -> Table:
    """See ``Run.runs``."""
    of_run = steps.c.run == runs.c.id
    counted = [
        select(value).where(of_run).scalar_subquery().label(name)
        for name, value in (
            ("steps", func.count()),
            ("last_step", func.max(steps.c.step)),
            ("records", func.coalesce(func.sum(steps.c.records), 0)),
        )
    ]
    # A step counts the calls of the simulation; probes are beside it.
    probes = select(func.count()).where(calls.c.run == runs.c.id)
    probes = probes.where(calls.c.seq > schema.PROBES)
    asked = select(func.coalesce(func.sum(steps.c.calls), 0)).where(of_run)
    counted.append((asked.scalar_subquery() + probes.scalar_subquery()).label("calls"))
    people = select(func.count()).where(agents.c.run == runs.c.id).scalar_subquery()
    wanted = select(runs, people.label("agents"), *counted)
    table = table_of(store, wanted.order_by(runs.c.id))
    for row in table.rows:
        row["parameters"] = readable(row["parameters"])
    return table


def run_row(store: Store, number: int) -> dict[str, Any]:
    """The row of a run in the table ``runs``."""
    return table_of(store, select(runs).where(runs.c.id == number)).rows[0]
