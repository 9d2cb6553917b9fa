"""SQL statements for sums over a whole population, which ``Run`` does not offer.

The index is by agent, so the statements name the agents.
"""

from sys import float_info
from typing import Any

from sqlalchemy import Table, case, func, select

from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.runs.state import COLUMNS
from mesa_memory.runs.telling import teller
from mesa_memory.stores import schema

records, agents = schema.records, schema.agents
#: a step before all others; the store takes finite numbers only
BEFORE_ALL = -float_info.max


def number(value: Any) -> float | None:
    """A recorded value if it is a finite number, else None."""
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    # The comparison also refuses NaN, and integers that are no float.
    return float(value) if usable and abs(value) <= float_info.max else None


def ends(run: Run) -> list[tuple[float, int]]:
    """Each finished step, and the last ``seq`` that was written by its end."""
    steps = schema.steps
    of_run = select(steps.c.step, steps.c.seq).where(steps.c.run == run.id)
    return run.rows(of_run.order_by(steps.c.step))


def of_agent(run: Run, table: Table, agent: Any, *where: Any) -> list[dict[str, Any]]:
    """All rows of an agent in a table, in order, without the column ``run``.

    Args:
        where: further conditions.
    """
    columns = [column for column in table.columns if column.name != "run"]
    own = (table.c.run == run.id, table.c.agent == run.name_of(agent))
    rows = run.records(select(*columns).where(*own, *where))
    return sorted(rows, key=lambda row: row["seq"])


def records_of(run: Run, agent: Any) -> list[dict[str, Any]]:
    """All records that an agent ever had, in order of arrival.

    Each has ``told``: its text as the agent is shown it.
    """
    own = records.c.agent == run.name_of(agent)
    wanted = select(*COLUMNS, records.c.graded_at)
    wanted = wanted.where(records.c.run == run.id, own)
    rows, tell = run.records(wanted.order_by(records.c.seq)), teller(run)
    return [row | {"told": tell(row)} for row in rows]


def messages(run: Run, after: int, until: int) -> list[dict[str, Any]]:
    """The records of messages with a ``seq`` from ``after + 1`` to ``until``, in order.

    Each has ``seq``, ``id``, ``agent``, ``content`` and ``origin``.
    """
    names = ("seq", "id", "agent", "content", "origin")
    new = records.c.seq > after, records.c.seq <= until, records.c.kind == "message"
    wanted = select(*(records.c[name] for name in names))
    rows = run.records(wanted.where(_of_agents(run, records), *new))
    return sorted(rows, key=lambda row: row["seq"])


def scenes(run: Run) -> list[tuple[int, str, dict[str, Any]]]:
    """``seq``, kind and changes of all ``scenes``, in order."""
    log = schema.scenes
    wanted = select(log.c.seq, log.c.kind, log.c.state).where(log.c.run == run.id)
    return run.rows(wanted.order_by(log.c.seq))


def measured(run: Run) -> dict[str, dict[float, float]]:
    """The measures of the model by name and step, as far as they are numbers."""
    table = schema.measures
    wanted = select(table.c.step, table.c.measured)
    wanted = wanted.where(table.c.run == run.id, table.c.agent == "")
    found: dict[str, dict[float, float]] = {}
    for step, values in run.rows(wanted.order_by(table.c.step)):
        for name, value in values.items():
            if (known := number(value)) is not None:
                found.setdefault(name, {})[step] = known
    return found


def remembered(run: Run) -> list[tuple]:
    """Per agent and step: events, derived records, sum of grades, graded events."""
    raw = was_not_derived()
    graded = case((raw, records.c.importance))
    wanted = select(
        records.c.agent,
        records.c.step,
        func.sum(case((raw, 1), else_=0)),
        func.sum(case((raw, 0), else_=1)),
        func.coalesce(func.sum(graded), 0.0),
        func.count(graded),
    )
    return run.rows(_per_agent_and_step(run, wanted, records))


def recalled(run: Run) -> list[tuple]:
    """Per agent and step: number of recalls."""
    log = schema.recalls
    wanted = select(log.c.agent, log.c.step, func.count())
    return run.rows(_per_agent_and_step(run, wanted, log))


def called(run: Run) -> list[tuple]:
    """Per agent and step: requests, tokens, US dollars, unpriced requests."""
    log = schema.calls
    tokens = func.coalesce(log.c.tokens_in, 0) + func.coalesce(log.c.tokens_out, 0)
    wanted = select(
        log.c.agent,
        log.c.step,
        func.count(),
        func.sum(tokens),
        func.coalesce(func.sum(log.c.cost), 0.0),
        func.count() - func.count(log.c.cost),
    )
    return run.rows(_per_agent_and_step(run, wanted, log))


def _per_agent_and_step(run: Run, wanted: Any, log: Any) -> Any:
    wanted = wanted.where(_of_agents(run, log))
    return wanted.group_by(log.c.agent, log.c.step)


def _of_agents(run: Run, table: Any) -> Any:
    """The condition that a row is of the run, by its agents.

    Of a join, SQLite would go through all rows of the run to find the new ones.
    """
    own = select(agents.c.agent).where(agents.c.run == run.id)
    return (table.c.run == run.id) & table.c.agent.in_(own)


def was_not_derived() -> Any:
    """The condition that no memory made a record: it happened, or was carried in."""
    return records.c.origin.is_distinct_from(DERIVED)
