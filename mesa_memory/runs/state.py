"""What an agent remembered at the end of a step; who is there; what was changed."""

from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select

from mesa_memory.runs.recorded import Recorded
from mesa_memory.runs.table import Table
from mesa_memory.stores import schema

records = schema.records
#: the columns of a record; its embedding is for machines
COLUMNS = tuple(
    c for c in records.columns if c.name not in ("run", "embedding", "embedder")
)


def valid_at(step: float) -> ColumnElement[bool]:
    """The condition that a record was current at the end of ``step``."""
    still = or_(records.c.valid_to.is_(None), records.c.valid_to > step)
    return and_(records.c.valid_from <= step, still)


def state(
    run: Recorded, agent: Any, step: Any, layer: str | None, kind: str | None
) -> Table:
    """See ``Run.state``."""
    wanted = (
        select(*COLUMNS)
        .where(
            run.mine(records),
            records.c.agent == run.agent(agent),
            valid_at(run.step(step)),
        )
        .order_by(records.c.seq)
    )
    if layer is not None:
        wanted = wanted.where(records.c.layer == layer)
    if kind is not None:
        wanted = wanted.where(records.c.kind == kind)
    return run.table(wanted)


def agents(run: Recorded) -> Table:
    """See ``Run.agents``."""
    who = schema.agents
    own = and_(run.mine(records), records.c.agent == who.c.agent)
    count = select(func.count()).select_from(records).where(own)
    # One look into the index for each agent is faster than GROUP BY over all of it.
    found = run.table(
        select(
            *(who.c.agent, who.c["class"], who.c.memory, who.c.layers),
            count.scalar_subquery().label("records"),
            _step_at(own, func.min).label("first_step"),
            _step_at(own, func.max).label("last_step"),
        ).where(run.mine(who))
    )
    places = {own: place for place, own in enumerate(run.unique_ids().values())}
    return Table(
        found.columns, sorted(found.rows, key=lambda row: places[row["agent"]])
    )


def _step_at(own: ColumnElement[bool], end: Any) -> Any:
    """The step of an agent's first or last record."""
    there = records.alias()
    seq = select(end(records.c.seq)).where(own).scalar_subquery()
    at = and_(
        there.c.run == schema.agents.c.run, there.c.agent == schema.agents.c.agent
    )
    return select(there.c.step).where(at, there.c.seq == seq).scalar_subquery()


def interventions(run: Recorded) -> Table:
    """See ``Run.interventions``."""
    table = schema.interventions
    columns = (table.c.seq, table.c.step, table.c.agent, table.c.kind, table.c.detail)
    return run.table(select(*columns).where(run.mine(table)).order_by(table.c.seq))
