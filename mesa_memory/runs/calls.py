"""The requests to language models, with which settings, and their cost."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from sqlalchemy import case, func, select

import mesa_memory.stores.schema as schema
from mesa_memory.runs.recorded import RecordedRun, logged
from mesa_memory.runs.table import Table

table = schema.calls
columns, agents = table.columns, schema.agents.columns
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
    ).where(run.mine(table))
    return run.table(summed.group_by(*keys).order_by(*keys) if keys else summed)


def _sum(column: Any) -> Any:
    return func.coalesce(func.sum(column), 0)


#: what all requests of a row have in common
_KEYS = (
    columns.purpose, columns.asked, columns.answered, columns.address, columns.client, columns.form,
    columns.settings,
)  # fmt: skip


def settings(run: RecordedRun) -> Table:
    """See ``Run.settings``."""
    made = select(*_KEYS, columns.date, columns.model).where(run.mine(table))
    rows = run.table(made.order_by(columns.seq)).rows
    for row in rows:
        model = row.pop("model")
        row["provider"] = (row["asked"] or model or "").partition("/")[0] or None
    dates = [row.pop("date") for row in rows]
    found = _counted(map(_row, rows), "calls", dates)
    return Table.of(found)


def memories(run: RecordedRun) -> Table:
    """See ``Run.memories``."""
    wanted = select(agents["class"], agents.memory, agents.settings)
    rows = run.table(wanted.where(run.mine(schema.agents)).order_by(agents.agent)).rows
    return Table.of(_counted(rows, "agents"))


def _counted(
    rows: Iterable[dict[str, Any]], name: str, dates: Sequence[str | None] = ()
) -> list[dict[str, Any]]:
    """Each different row once, with how often it came, and first and last when."""
    found: dict[str, dict[str, Any]] = {}
    for row, date in zip_longest(rows, dates):
        known = found.setdefault(repr(row), row | {name: 0})
        known[name] += 1
        if dates:
            known["first"], known["last"] = known.get("first") or date, date
    return list(found.values())


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the settings that reports ask for, and all others under ``options``."""
    given = dict(row.pop("settings") or {})
    asked = {
        n: given.pop(n, None) for n in ("temperature", "top_p", "seed", "max_tokens")
    }
    return {**row, **asked, "options": given or None}
