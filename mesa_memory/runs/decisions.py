"""The decisions of agents: what each was asked, what it knew, what it said and did."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mesa_memory.stores.schema as schema
from mesa_memory.core.content import one_line
from mesa_memory.core.records import DERIVED
from mesa_memory.core.text.tool_calls import functions, said
from mesa_memory.retrieval import overlap
from mesa_memory.runs.past import teller, to_be_told
from mesa_memory.runs.queries import Queries
from mesa_memory.runs.recorded import Table, logged, table

COLUMNS = (
    "seq", "step", "agent", "purpose", "model", "system", "question", "question_only", "memory",
    "recalled", "answer", "tools", "tool_calls", "followed", "error", "replayed",
)  # fmt: skip
#: stands for the memory text in a question
MEMORY_SIGN = "[its memory]"
#: longest text of an event, in characters
EVENT_CHARS = 1000
#: the beginning of a line by which it is found in a request: prompts cut long ones later
FOUND_CHARS = 120
type Row = dict[str, Any]
_calls = schema.calls


@dataclass(frozen=True)
class _Event:
    """A record that was recalled or followed.

    Attributes:
        text: as its agent was shown it.
        words: of a message, without speaker and listeners; else empty.
        derived: whether the memory itself made it; then a prompt may word it differently.
        results: (name, response) of the tools that were called.
    """

    text: str
    words: str
    derived: bool
    results: list[tuple[Any, Any]]


type _Events = Mapping[str, _Event]


def decisions(run: Queries, agent: Any, step: Any) -> Table:
    """See ``Run.decisions``."""
    wanted = logged(run, _calls, agent, step).where(_calls.c.decision.is_not(None))
    asked = run.table(wanted).rows
    if not asked:
        return table(COLUMNS, [])
    shown = run.prompts(agent, step, as_records=True)
    recalled = run.recalls(agent, step, as_records=True)
    lines = [line for line in recalled if line["shown"]]
    ids = [id for row in asked for id in _followed(row)]
    events = _events(run, dict.fromkeys([*(line["id"] for line in lines), *ids]))
    texts_of, lines_of = _by_step(shown), _by_step(lines)
    rows = []
    for row in asked:
        place = row["agent"], row["step"]
        read = texts_of.get(place, ()), lines_of.get(place, ())
        rows.append(_decision(row, *read, events))
    return table(COLUMNS, rows)


def _by_step(logged: Iterable[Row]) -> dict[tuple[Any, Any], list[Row]]:
    found: dict[tuple[Any, Any], list[Row]] = {}
    for row in logged:
        found.setdefault((row["agent"], row["step"]), []).append(row)
    return found


def _followed(row: Mapping[str, Any]) -> list[str]:
    given = row["decision"].get("followed") or []
    return [one for one in given if isinstance(one, str)]


def _events(run: Queries, ids: Iterable[str]) -> _Events:
    """The existing records among these ids, as events."""
    tell, found = teller(run), {}
    for id, record in to_be_told(run, ids):
        content = record["content"] if isinstance(record["content"], dict) else {}
        calls = content.get("tool_calls") if record["kind"] == "action" else None
        found[id] = _Event(
            tell(record, EVENT_CHARS),
            one_line(str(content.get("message") or "")),
            record["origin"] == DERIVED,
            [
                (one.get("name"), one.get("response"))
                for one in (calls if isinstance(calls, list) else ())
                if isinstance(one, Mapping)
            ],
        )
    return found


def _decision(
    row: Row, shown: Iterable[Row], recalled: Iterable[Row], events: _Events
) -> Row:
    """The row of a decision, from its call and what its agent read in that step."""
    given = [one for one in row["prompt"] or () if isinstance(one, Mapping)]
    system = "\n".join(_texts(given, True))
    question = "\n\n".join(_texts(given, False))
    whole = f"{system}\n{question}"
    memory = _memory_in(whole, (one["text"] or "" for one in shown))
    lines = _recalled_in(bare(whole), memory, recalled, events)
    calls = [dict(function) for function in functions(row["raw"])]
    told = said(row["reply"], row["raw"])
    used = overlap.used([line["text"] for line in lines], told)
    followed = [(id, events[id]) for id in _followed(row) if id in events]
    results = [result for _, event in followed for result in event.results]
    return {name: row.get(name) for name in COLUMNS} | {
        "system": system,
        "question": question,
        "question_only": _without(memory, question).strip() or system.strip(),
        "memory": "\n\n".join(memory),
        "recalled": [line | {"used": is_used} for line, is_used in zip(lines, used)],
        "answer": row["reply"],
        "tools": row["decision"].get("tools") or [],
        "tool_calls": [one | {"result": _result(one, results)} for one in calls],
        "followed": [{"id": id, "text": event.text} for id, event in followed],
    }


def _without(memory: Iterable[str], text: str) -> str:
    """A text with a sign in the place of each text of the memory."""
    for part in filter(str.strip, memory):
        text = text.replace(part, MEMORY_SIGN)
    return text


def _texts(messages: Iterable[Mapping], system: bool) -> list[str]:
    """The texts of the messages of the system, or of all others; other parts as JSON."""
    parts = (
        one.get("content") or ""
        for one in messages
        if (one.get("role") == "system") == system
    )
    return [p if isinstance(p, str) else json.dumps(p) for p in parts]


def _memory_in(request: str, read: Iterable[str]) -> list[str]:
    """The texts of memory that stand in a request, each once.

    A text that was read earlier in the step may be a part of a later one.
    """
    found = {text for one in read if (text := one.strip()) and text in request}
    own = [t for t in found if not any(t in other for other in found if other != t)]
    return sorted(own, key=lambda text: (request.index(text), text))


def _recalled_in(
    request: str, memory: Sequence[str], recalled: Iterable[Row], events: _Events
) -> list[Row]:
    """The recalled lines in a request, with id, text and score, each once.

    One that was said several times has the text that the memory has for it.
    If the agent read its memory several times in the step, the lines come from the read
    that the request has most of. A recall in code counts only with lines in the request.
    """

    def share(lines: Sequence[Row]) -> float:
        there = [
            events[line["id"]].derived or bare(line["text"])[:FOUND_CHARS] in request
            for line in lines
        ]
        return sum(there) / len(there)

    reads: dict[Any, dict[int, list[Row]]] = {}
    found: list[Row] = []
    for one in recalled:
        event = events.get(one["id"])
        if event is not None:
            text = _told_in(memory, event) if one.get("times") else event.text
            line = {"id": one["id"], "text": text, "score": one["score"]}
            if one["purpose"] == "prompt":
                seqs = reads.setdefault(one["layer"], {})
                seqs.setdefault(one["seq"], []).append(line)
            elif one["purpose"] == "query" and share([line]):
                found.append(line)
    for several in reads.values():
        best = max(several.values(), key=lambda lines: (share(lines), len(lines)))
        found += best if memory and share(best) else []
    return list({line["id"]: line for line in found}.values())


def _told_in(memory: Iterable[str], event: _Event) -> str:
    """The line of a memory's text that tells an event, in other words if it is one of
    several that say the same.
    """
    lines = [line.removeprefix("- ") for text in memory for line in text.splitlines()]
    for line in lines:
        if event.text in line or (event.words and line.endswith(event.words)):
            return line
    return event.text


def bare(text: str) -> str:
    """A text with one space between its words."""
    return " ".join(text.split())


def _result(call: Mapping[str, Any], results: list[tuple[Any, Any]]) -> Any:
    """The response of a called tool; None if no event tells it.

    Args:
        results: (name, response) of events, in order; the response is taken out.
    """
    for place, (name, response) in enumerate(results):
        if name == call.get("name"):
            del results[place]
            return response
    return None
