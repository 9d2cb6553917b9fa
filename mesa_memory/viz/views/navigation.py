"""Ways from one view to another, each one entry in the browser's history."""

from typing import Any

from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Source

#: longest text that is looked for: an address has to hold it
MAX_SPREAD_CHARS = 400


def to_evidence(selection: Selection, record: str, agent: Any) -> None:
    """Shows the sources of an agent's record."""
    options = selection.with_option("record", record)
    selection.choose(view="evidence", agent=agent, options=options)


def to_request(selection: Selection, request: str, step: float, agent: Any) -> None:
    """Shows a request of an agent, with its reply.

    Args:
        step: a finished step, the one to which the request belongs.
    """
    options = selection.with_option("request", request)
    selection.choose(view="requests", agent=agent, step=step, options=options)


def to_spread(selection: Selection, text: str, agent: Any, step: float) -> None:
    """Shows the holders of a text at a step."""
    words = text.strip()[:MAX_SPREAD_CHARS]
    selection.choose(view="spread", text=words, agent=agent, step=step)


def to_agent(source: Source, selection: Selection, agent: Any, since: float) -> None:
    """Shows an agent's memory at the first finished step from ``since`` on."""
    step = min((s for s in source.steps if s >= since), default=None)
    selection.choose(view="agent", agent=agent, step=step)
