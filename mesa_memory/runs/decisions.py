"""The decisions of agents: what each was asked, what it knew, what it said and did."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.core.text.tool_calls import functions
from mesa_memory.runs.recalls import prompts, recalls, texts
from mesa_memory.runs.recorded import RecordedRun, in_order
from mesa_memory.runs.table import Table, table

COLUMNS = (
    "seq", "step", "agent", "purpose", "model", "system", "question", "memory", "recalled",
    "answer", "tools", "tool_calls", "followed", "error", "replayed",
)  # fmt: skip
_calls = schema.calls


def decisions(run: RecordedRun, agent: Any, step: Any) -> Table:
    """See ``Run.decisions``."""
    wanted = select(_calls).where(run.mine(_calls)).order_by(in_order(_calls))
    wanted = wanted.where(_calls.c.decision.is_not(None))
    if agent is not None:
        wanted = wanted.where(_calls.c.agent == run.name_of(agent))
    if step is not None:
        wanted = wanted.where(_calls.c.step == run.step(step))
    asked = run.table(wanted).rows
    said = texts(run, [id for row in asked for id in _followed(row)])
    shown, recalled = _by_step(prompts(run, agent, step)), {}
    if asked:
        recalled = _by_step(recalls(run, agent, step))
    rows = []
    for row in asked:
        place = row["agent"], row["step"]
        rows.append(_decision(row, shown.get(place, ()), recalled.get(place, ()), said))
    return table(COLUMNS, rows)


def _by_step(logged: Table) -> dict[tuple[Any, Any], list[dict[str, Any]]]:
    found: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for row in logged.rows:
        found.setdefault((row["agent"], row["step"]), []).append(row)
    return found


def _followed(row: Mapping[str, Any]) -> list[str]:
    given = row["decision"].get("followed") or []
    return [one for one in given if isinstance(one, str)]


def _decision(
    row: dict[str, Any], shown: Any, recalled: Any, said: Mapping[str, str | None]
) -> dict[str, Any]:
    """The row of a decision, from its call and what its agent read in that step."""
    messages = row["prompt"] or []
    system = "\n".join(_texts(messages, lambda role: role == "system"))
    question = "\n\n".join(_texts(messages, lambda role: role != "system"))
    whole = f"{system}\n{question}"
    memory = dict.fromkeys(
        text for one in shown if (text := (one["text"] or "").strip()) and text in whole
    )
    lines = {
        one["id"]: {name: one[name] for name in ("id", "text", "score", "used")}
        for one in recalled
        if one["shown"]
    }
    return {name: row.get(name) for name in COLUMNS} | {
        "system": system,
        "question": question,
        "memory": "\n\n".join(memory),
        "recalled": list(lines.values()) if memory else [],
        "answer": row["reply"],
        "tools": row["decision"].get("tools") or [],
        "tool_calls": [dict(function) for function in functions(row["raw"])],
        "followed": [{"id": id, "text": said.get(id)} for id in _followed(row)],
    }


def _texts(messages: Any, wanted: Any) -> list[str]:
    return [
        message.get("content") or "" for message in messages if wanted(message["role"])
    ]
