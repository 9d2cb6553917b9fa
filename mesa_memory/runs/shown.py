"""A recorded run in a notebook: its parameters and its agents."""

from collections.abc import Iterable
from html import escape
from typing import Any

from mesa_memory.core.content import cut

#: agents that are listed
LISTED_AGENTS = 20
#: characters of a value
VALUE_CHARS = 120
_COLUMNS = ("agent", "name", "class", "memory", "records", "first_step", "last_step")


def as_html(run: Any) -> str:
    """A run as HTML; all that it holds stands there as text."""
    steps, agents = run.steps, run.agents(as_records=True)
    facts = {
        "model": run.model,
        "name": run.name,
        "state": run.status,
        "seed": run.seed,
        "steps": f"{len(steps)}, to {steps[-1]:g}" if steps else "none finished",
        "agents": len(agents),
    }
    given = ", ".join(f"{name}={value}" for name, value in run.parameters.items())
    facts |= {"parameters": given, "store": run.location}
    told = "".join(
        f"<tr><th>{name}</th><td>{_cell(value)}</td></tr>"
        for name, value in facts.items()
        if value not in (None, "")
    )
    more = len(agents) - LISTED_AGENTS
    note = f"<p>… and {more} more agents</p>" if more > 0 else ""
    return (
        f"<div><h4>Run {run.id}</h4><table>{told}</table>"
        f"<h4>Agents</h4>{_table(agents[:LISTED_AGENTS])}{note}</div>"
    )


def _table(rows: Iterable[dict[str, Any]]) -> str:
    heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in _COLUMNS)
    lines = (
        "".join(f"<td>{_cell(row[name])}</td>" for name in _COLUMNS) for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return escape(cut(text, VALUE_CHARS))
