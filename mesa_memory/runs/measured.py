"""The measures of a run besides its memories, and its agents' answers to questions."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.table import Table, table

#: prefix of the kind of a row of ``scenes`` with an attribute of the agents, whose name
#: follows
OUTCOMES = "outcomes/"


def measures(run: RecordedRun) -> list[str]:
    """The names of the measures and outcomes, sorted."""
    log = schema.measures
    columns = (log.c.measured, log.c.outcomes)
    rows = run.rows(select(*columns).where(run.mine(log)))
    return sorted({name for row in rows for values in row for name in values or ()})


def attributes(run: RecordedRun) -> list[str]:
    """The names of the agents' attributes that were recorded, sorted."""
    table = schema.scenes
    kinds = run.rows(select(table.c.kind).where(run.mine(table)).distinct())
    named = [kind for (kind,) in kinds if kind.startswith(OUTCOMES)]
    return sorted(kind.removeprefix(OUTCOMES) for kind in named)


def outcomes_by_step(
    run: RecordedRun, steps: Iterable[float]
) -> dict[float, dict[str, dict[str, Any]]]:
    """The agents' recorded attributes, by the end of a step, name and unique id as text.

    Args:
        run: a recorded run.
        steps: finished ones, in order.
    """
    log = schema.scenes
    wanted = select(log.c.step, log.c.kind, log.c.state).where(run.mine(log))
    rows = run.rows(wanted.order_by(log.c.seq))
    found, now, place = {}, dict[str, dict[str, Any]](), 0
    for step in steps:
        while place < len(rows) and rows[place][0] <= step:
            _, kind, state = rows[place]
            if kind.startswith(OUTCOMES):
                name = kind.removeprefix(OUTCOMES)
                now = now | {name: now.get(name, {}) | (state or {})}
            place += 1
        found[step] = now
    return found


def outcomes(run: RecordedRun) -> Table:
    """See ``Run.outcomes``."""
    names, known = attributes(run), {str(o): o for o in run.unique_ids.values()}
    shown = [f"own_{name}" if name in ("step", "agent") else name for name in names]
    rows = []
    for step, found in outcomes_by_step(run, run.steps).items():
        ids = {id for values in found.values() for id in values}
        # An agent without a memory has no other row in the run.
        own = [known.get(id, int(id) if id.isdecimal() else id) for id in ids]
        for agent in sorted(own, key=lambda id: (isinstance(id, str), id)):
            values = [found.get(name, {}).get(str(agent)) for name in names]
            if any(value is not None for value in values):
                rows.append({"step": step, "agent": agent} | dict(zip(shown, values)))
    return table(("step", "agent", *shown), rows)


def responses(run: RecordedRun) -> list[dict[str, Any]]:
    """The answers to questionnaires: question, value and error of each, by step."""
    table = schema.responses
    columns = (table.c.step, table.c.agent, table.c.question, table.c.value)
    wanted = select(*columns, table.c.error).where(run.mine(table))
    return run.records(wanted.order_by(table.c.step, table.c.agent, table.c.question))
