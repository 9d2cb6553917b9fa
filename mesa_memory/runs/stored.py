"""The runs of a store: an overview, and a run by its number or name."""

from typing import Any

from sqlalchemy import func, select

import mesa_memory.stores.schema as schema
from mesa_memory.core.arguments import readable
from mesa_memory.runs.recorded import listed, rows, table_of
from mesa_memory.runs.table import Table
from mesa_memory.stores.open import no_run
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


def run_id(store: Store, run: Any) -> int:
    """The id of a run.

    Args:
        store: with the run.
        run: id or name, of which the newest run counts; None is the newest run.

    Raises:
        ValueError: if the store lacks the run; lists its runs.
        StoreUnavailable: if the store does not have any run.
    """
    known = rows(store, select(runs.c.id, runs.c.name).order_by(runs.c.id))
    if not known:
        raise no_run(store.location)
    meant = [
        number
        for number, name in known
        if run is None or run in (number, name) or run == str(number)
    ]
    if meant and not isinstance(run, bool):
        exact = [number for number in meant if number == run]
        return exact[0] if exact else meant[-1]
    names = listed(f"{n} {name!r}" if name else n for n, name in known)
    what = "no run" if run is None else f"no run {run!r}"
    raise ValueError(f"{store.location}: there is {what}; its runs are {names}")


def run_row(store: Store, number: int) -> dict[str, Any]:
    """The row of a run in the table ``runs``."""
    return table_of(store, select(runs).where(runs.c.id == number)).rows[0]
