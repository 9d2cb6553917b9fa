"""Numbers and outcomes of a run by step, and its agents' answers to questions."""

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import case, func, select

import mesa_memory.stores.schema as schema
from mesa_memory.core.records import DERIVED
from mesa_memory.runs.past import of_agents
from mesa_memory.runs.recorded import RecordedRun, Table, table

#: prefix of the kind of a row of ``scenes`` with an attribute of the agents, whose name
#: follows
OUTCOMES = "outcomes/"


def measures(run: RecordedRun) -> list[str]:
    """The names of the measures and outcomes, sorted."""
    log = schema.measures
    columns = (log.c.measured, log.c.outcomes)
    rows = run.rows(select(*columns).where(run.mine(log)))
    return sorted({name for row in rows for values in row for name in values or ()})


def measured(run: RecordedRun) -> dict[str, dict[float, Any]]:
    """The measures of the model by name and step."""
    log = schema.measures
    wanted = select(log.c.step, log.c.measured).where(run.mine(log), log.c.agent == "")
    found: dict[str, dict[float, Any]] = {}
    for step, values in run.rows(wanted.order_by(log.c.step)):
        for name, value in values.items():
            found.setdefault(name, {})[step] = value
    return found


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
    return {
        step: {
            kind.removeprefix(OUTCOMES): state
            for kind, state in now.items()
            if kind.startswith(OUTCOMES)
        }
        for step, now in seen_by_step(run, steps)
    }


def seen_by_step(
    run: RecordedRun, steps: Iterable[float]
) -> Iterator[tuple[float, dict[str, dict[str, Any]]]]:
    """The state of all that each step has, by kind and name; None for what has left."""
    log = schema.scenes
    wanted = select(log.c.step, log.c.kind, log.c.state).where(run.mine(log))
    rows = run.rows(wanted.order_by(log.c.seq))
    now, place = dict[str, dict[str, Any]](), 0
    for step in steps:
        while place < len(rows) and rows[place][0] <= step:
            _, kind, state = rows[place]
            now = now | {kind: now.get(kind, {}) | (state or {})}
            place += 1
        yield step, now


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


def ends(run: RecordedRun) -> list[tuple[float, int]]:
    """Each finished step, and the last ``seq`` that was written by its end."""
    steps = schema.steps
    wanted = select(steps.c.step, steps.c.seq).where(run.mine(steps))
    return run.rows(wanted.order_by(steps.c.step))


def scenes(run: RecordedRun) -> list[tuple[int, str, dict[str, Any]]]:
    """``seq``, kind and changes of all ``scenes``, in order."""
    log = schema.scenes
    wanted = select(log.c.seq, log.c.kind, log.c.state).where(run.mine(log))
    return run.rows(wanted.order_by(log.c.seq))


def remembered(run: RecordedRun) -> list[tuple]:
    """Per agent and step: events, derived records, sum of grades, graded events."""
    records = schema.records
    # An event happened, or was carried in; no memory made it.
    raw = records.c.origin.is_distinct_from(DERIVED)
    graded = case((raw, records.c.importance))
    sums = (
        func.sum(case((raw, 1), else_=0)),
        func.sum(case((raw, 0), else_=1)),
        func.coalesce(func.sum(graded), 0.0),
        func.count(graded),
    )
    return _per_agent_and_step(run, records, *sums)


def recalled(run: RecordedRun) -> list[tuple]:
    """Per agent and step: number of recalls."""
    return _per_agent_and_step(run, schema.recalls, func.count())


def called(run: RecordedRun) -> list[tuple]:
    """Per agent and step: requests, tokens, US dollars, unpriced requests."""
    log = schema.calls
    tokens = func.coalesce(log.c.tokens_in, 0) + func.coalesce(log.c.tokens_out, 0)
    spent = func.coalesce(func.sum(log.c.cost), 0.0)
    unpriced = func.count() - func.count(log.c.cost)
    sums = (func.count(), func.sum(tokens), spent, unpriced)
    return _per_agent_and_step(run, log, *sums)


def _per_agent_and_step(run: RecordedRun, log: Any, *sums: Any) -> list[tuple]:
    keys = log.c.agent, log.c.step
    wanted = select(*keys, *sums).where(of_agents(run, log))
    return run.rows(wanted.group_by(*keys))
