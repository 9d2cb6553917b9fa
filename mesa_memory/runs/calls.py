"""The requests to language models, with which settings, and their cost."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import case, func, select

import mesa_memory.stores.schema as schema
from mesa_memory.runs.recorded import RecordedRun, logged
from mesa_memory.runs.table import Table

table = schema.calls
#: what cost can be grouped by
KEYS = (
    "purpose", "agent", "step", "model", "replayed", "finish", "tier", "cached", "client",
    "form",
)  # fmt: skip
#: the columns of a call; the raw reply is for replays
COLUMNS = tuple(c for c in table.columns if c.name not in ("run", "raw"))


def calls(run: RecordedRun, agent: Any, step: Any, purpose: str | None) -> Table:
    """See ``Run.calls``."""
    wanted = logged(run, table, agent, step, COLUMNS)
    if purpose is not None:
        wanted = wanted.where(table.c.purpose == purpose)
    return run.table(wanted)


def cost(run: RecordedRun, by: Sequence[str]) -> Table:
    """See ``Run.cost``."""
    names = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    unknown = [name for name in names if name not in KEYS]
    if unknown:
        raise ValueError(f"cost is by {', '.join(KEYS)}, got {unknown[0]!r}")
    keys = [table.c[name] for name in names]
    count = func.count()
    unpriced = count - func.count(table.c.cost)
    summed = select(
        *keys,
        count.label("calls"),
        _sum(table.c.attempts).label("attempts"),
        _sum(table.c.tokens_in).label("tokens_in"),
        _sum(table.c.tokens_out).label("tokens_out"),
        _sum(table.c.tokens_cached).label("tokens_cached"),
        # A sum with an unknown part is unknown, not smaller.
        case((unpriced == 0, func.coalesce(func.sum(table.c.cost), 0.0))).label("cost"),
        unpriced.label("unpriced"),
        _sum(table.c.latency).label("latency"),
        func.count(table.c.error).label("failures"),
        _sum(case((table.c.replayed, 1), else_=0)).label("replayed_calls"),
        _sum(case((table.c.cached, 1), else_=0)).label("cached_calls"),
        _sum(case((table.c.repairs, 1), else_=0)).label("asked_again"),
        func.count(table.c.doubtful).label("doubtful"),
        func.count(table.c.given_up).label("given_up"),
    ).where(run.mine(table))
    return run.table(summed.group_by(*keys).order_by(*keys) if keys else summed)


def _sum(column: Any) -> Any:
    return func.coalesce(func.sum(column), 0)


def memories(run: RecordedRun) -> Table:
    """See ``Run.memories``."""
    agents = schema.agents.columns
    wanted = select(agents["class"], agents.memory, agents.settings)
    found: dict[str, dict[str, Any]] = {}
    rows = run.table(wanted.where(run.mine(schema.agents)).order_by(agents.agent)).rows
    for row in rows:
        known = found.setdefault(repr(row), row | {"agents": 0})
        known["agents"] += 1
    return Table.of(list(found.values()))
