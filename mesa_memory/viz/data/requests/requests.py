"""The requests of an agent to language models, with their replies."""

import json
from collections.abc import Mapping
from typing import Any

from mesa_memory.core.arguments import readable
from mesa_memory.core.content import brief
from mesa_memory.core.text.tool_calls import functions
from mesa_memory.runs import Run
from mesa_memory.stores.schema import calls
from mesa_memory.viz.data import reading
from mesa_memory.viz.data.agent import Row

#: longest value of a setting
SETTING_CHARS = 80
#: reasons of providers for the end of a reply, in plain words
FINISHED = {
    "stop": "finished normally",
    "length": "cut at its limit",
    "tool_calls": "called a tool",
    "content_filter": "withheld by a filter",
}


def requests(run: Run, agent: Any, after: float, step: float) -> list[Row]:
    """An agent's requests of a step, in the order they were recorded.

    Each has the columns of ``schema.calls``, and besides ``id`` (its place in the run, as
    text), ``messages`` (role and text, oldest first), ``tools`` (``name`` and
    ``arguments`` of the calls in the reply), ``outcome`` in a few words, and ``round``:
    ``"repair"`` if it asks again after a reply that could not be used, else ``"first"``.
    ``sent_with`` has the settings of its sending as texts, by name.

    Args:
        after: the finished step before it; what came between the two belongs to it.
    """
    within = (calls.c.step > after, calls.c.step <= step)
    return [_request(row) for row in reading.of_agent(run, calls, agent, *within)]


def _request(row: Row) -> Row:
    given = [one for one in row["prompt"] or () if isinstance(one, Mapping)]
    messages = [(str(m.get("role") or "?"), _said(m.get("content"))) for m in given]
    return row | {
        "id": str(row["seq"]),
        "messages": messages,
        "reply": row["reply"] or "",
        "tools": [
            {"name": str(one["name"]), "arguments": _said(one.get("arguments"))}
            for one in functions(row["raw"])
            if one.get("name")
        ],
        "outcome": _outcome(row),
        "round": "repair" if row["repairs"] else "first",
        "sent_with": {
            str(name): brief(str(readable(value)), SETTING_CHARS)
            for name, value in (row["settings"] or {}).items()
        },
    }


def _outcome(row: Row) -> str:
    if row["error"] is not None:
        return "failed"
    if row["replayed"]:
        end = "from a recorded run"
    else:
        finish = str(row["finish"] or "stop")
        end = "from a cache" if row["cached"] else FINISHED.get(finish, finish)
    return f"{end}, doubtful" if row["doubtful"] else end


def _said(content: Any) -> str:
    """The text of a message; other parts as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, indent=1)
