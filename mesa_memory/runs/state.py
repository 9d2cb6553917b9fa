"""The memory of an agent at the end of a step, the agents, interventions and runs."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select

import mesa_memory.stores.schema as schema
from mesa_memory.core.codec import readable
from mesa_memory.core.prompt_files import PromptFile
from mesa_memory.core.wording import COMMON, ENGLISH, Wording, restored, step_sentence
from mesa_memory.runs.recorded import RecordedRun, table_of
from mesa_memory.runs.table import Table, table
from mesa_memory.stores.sql import Store

records = schema.records
#: the columns that only programs need
_NOT_SHOWN = ("run", "graded_at", "closed_at", "staled_at")
#: the columns of a record
COLUMNS = tuple(c for c in records.columns if c.name not in _NOT_SHOWN)


def valid_at(step: float) -> ColumnElement[bool]:
    """The condition that a record was current at the end of ``step``."""
    still = or_(records.c.valid_to.is_(None), records.c.valid_to > step)
    return and_(records.c.valid_from <= step, still)


def state(
    run: RecordedRun, agent: Any, step: Any, layer: str | None, kind: str | None
) -> Table:
    """See ``Run.state``."""
    at = run.step(step)
    mine = run.mine(records), records.c.agent == run.name_of(agent)
    wanted = select(*COLUMNS, records.c.graded_at).where(*mine, valid_at(at))
    wanted = wanted.order_by(records.c.seq)
    if layer is not None:
        wanted = wanted.where(records.c.layer == layer)
    if kind is not None:
        wanted = wanted.where(records.c.kind == kind)
    rows = [as_known(row, at) for row in run.records(wanted)]
    return table(tuple(column.name for column in COLUMNS), rows)


def as_known(row: dict[str, Any], step: float) -> dict[str, Any]:
    """A record as it was at the end of a step, without what was found out later.

    Args:
        row: of ``records``, with ``graded_at``.
    """
    graded, stale = row["graded_at"], row["stale_since"]
    later: dict[str, Any] = {}
    if graded is not None and graded > step:
        later["importance"] = None
    if stale is not None and stale > step:
        later["stale_since"] = None
    return row | later if later else row


def agents(run: RecordedRun) -> Table:
    """See ``Run.agents``."""
    who = schema.agents

    def own(wanted: Select[Any]) -> Any:
        # One look into the index for each agent is faster than GROUP BY over all of it.
        of_agent = (run.mine(records), records.c.agent == who.c.agent)
        return wanted.where(*of_agent).correlate(who).scalar_subquery()

    step = select(records.c.step).limit(1)
    found = run.table(
        select(
            *(who.c.agent, who.c.name, who.c["class"], who.c.memory, who.c.layers),
            own(select(func.count()).select_from(records)).label("records"),
            own(step.order_by(records.c.seq)).label("first_step"),
            own(step.order_by(records.c.seq.desc())).label("last_step"),
        ).where(run.mine(who))
    )
    places = {name: place for place, name in enumerate(run.unique_ids.values())}
    found.rows.sort(key=lambda row: places[row["agent"]])
    return found


def prompt_files(run: RecordedRun) -> Table:
    """See ``Run.prompt_files``."""
    files = schema.prompt_files
    names = ("language", "name", "hash", "step", "text")
    wanted = select(*(files.c[name] for name in names)).where(run.mine(files))
    order = files.c.language, files.c.name, files.c.step
    return run.table(wanted.order_by(*order))


def step_name(run: RecordedRun) -> str:
    """See ``Run.step_name``."""
    return next(iter(step_names(prompt_files(run).rows)), "")


def step_names(files: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences that say what a step is, from rows of ``prompt_files``, each once."""
    texts = {row["text"]: None for row in files if row["name"] == COMMON}
    told = (step_sentence(PromptFile(COMMON, text)) for text in texts)
    return list(dict.fromkeys(filter(None, told)))


def wording_of(run: RecordedRun) -> Wording:
    """The words in which a run's agents were told of events; of several, the first."""
    files = [row for row in prompt_files(run).rows if row["name"] == "events"]
    if not files:
        return ENGLISH
    return _wording(files[-1]["language"], files[-1]["text"])


@lru_cache(maxsize=16)
def _wording(language: str, events: str) -> Wording:
    """With these templates of events, which take long to compile."""
    return restored(language, {"events": events})


def interventions(run: RecordedRun) -> Table:
    """See ``Run.interventions``."""
    log = schema.interventions
    columns = (log.c.seq, log.c.step, log.c.agent, log.c.kind, log.c.detail)
    return run.table(select(*columns).where(run.mine(log)).order_by(log.c.seq))


def overview(store: Store) -> Table:
    """See ``Run.runs``."""
    runs, steps, calls = schema.runs, schema.steps, schema.calls
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
    people = (
        select(func.count()).where(schema.agents.c.run == runs.c.id).scalar_subquery()
    )
    wanted = select(runs, people.label("agents"), *counted)
    table = table_of(store, wanted.order_by(runs.c.id))
    for row in table.rows:
        row["parameters"] = readable(row["parameters"])
    return table
