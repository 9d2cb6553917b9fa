"""Statements about a run that ``Run`` has no method for: sums for a whole population.

Each takes a run and the ``seq`` after which rows are wanted, so that a run that goes on
is not read from its beginning after every step. All rows of an agent's log stand
together in an index, so the agents come first.
"""

from typing import Any

from sqlalchemy import case, func, literal, or_, select

from mesa_memory.runs import Run
from mesa_memory.runs.state import COLUMNS
from mesa_memory.stores import schema

records, agents = schema.records, schema.agents


def ends(run: Run) -> list[tuple[float, int]]:
    """Each finished step, and the last ``seq`` that was written by its end."""
    steps = schema.steps
    of_run = select(steps.c.step, steps.c.seq).where(steps.c.run == run.id)
    return _rows(run, of_run.order_by(steps.c.step))


def names(run: Run) -> dict[str, Any]:
    """The agents by their names in the store, and their own ids, in order."""
    return dict(run._run.unique_ids())


def records_of(run: Run, agent: Any) -> list[dict[str, Any]]:
    """All records that an agent ever had, in order of arrival."""
    own = records.c.agent == run._run.agent(agent)
    wanted = select(*COLUMNS, records.c.graded_at)
    wanted = wanted.where(records.c.run == run.id, own)
    return run._run.table(wanted.order_by(records.c.seq)).rows


def remembered(run: Run, after: int) -> list[tuple]:
    """Per agent and step: events, what was made of them, grades, how many graded."""
    raw = _without_sources()
    graded = case((raw, records.c.importance))
    wanted = select(
        agents.c.agent,
        records.c.step,
        func.sum(case((raw, 1), else_=0)),
        func.sum(case((raw, 0), else_=1)),
        func.coalesce(func.sum(graded), 0.0),
        func.count(graded),
    )
    return _rows(run, _per_agent_and_step(run, wanted, records, after))


def recalled(run: Run, after: int) -> list[tuple]:
    """Per agent and step: how many recalls."""
    log = schema.recalls
    wanted = select(agents.c.agent, log.c.step, func.count())
    return _rows(run, _per_agent_and_step(run, wanted, log, after))


def called(run: Run, after: int) -> list[tuple]:
    """Per agent and step: requests, tokens, US dollars, requests without a price."""
    log = schema.calls
    tokens = func.coalesce(log.c.tokens_in, 0) + func.coalesce(log.c.tokens_out, 0)
    wanted = select(
        agents.c.agent,
        log.c.step,
        func.count(),
        func.sum(tokens),
        func.coalesce(func.sum(log.c.cost), 0.0),
        func.count() - func.count(log.c.cost),
    )
    return _rows(run, _per_agent_and_step(run, wanted, log, after))


def lifetimes(run: Run) -> list[tuple]:
    """Layer, kind, first step, last step, and how many records have these.

    All kinds of events are ``"event"``.
    """
    kind = case((_without_sources(), "event"), else_=records.c.kind).label("kind")
    own = (records.c.layer, kind, records.c.valid_from, records.c.valid_to)
    # PostgreSQL does not see that an expression with parameters is the same one.
    of_run = select(*own).where(records.c.run == run.id).subquery()
    return _rows(run, select(*of_run.c, func.count()).group_by(*of_run.c))


def _per_agent_and_step(run: Run, wanted: Any, table: Any, after: int) -> Any:
    of_agent = (table.c.run == agents.c.run) & (table.c.agent == agents.c.agent)
    # By the bare column SQLite would choose an index that does not begin with agents.
    new = table.c.seq > after if table is records else table.c.seq + 0 > after
    wanted = wanted.select_from(agents.join(table, of_agent))
    wanted = wanted.where(agents.c.run == run.id, new)
    return wanted.group_by(agents.c.agent, table.c.step)


def _without_sources() -> Any:
    """The condition that a record is an event, and not made from others."""
    none = literal([], records.c.sources.type)
    return or_(records.c.sources.is_(None), records.c.sources == none)


def _rows(run: Run, statement: Any) -> list[Any]:
    return run._reader.rows(statement)
