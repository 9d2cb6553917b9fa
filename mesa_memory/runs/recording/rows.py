"""The rows of a step in a store's tables, with the settings of memories and the decisions of agents."""

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from mesa_memory.core.codec import encode_snapshot
from mesa_memory.core.fault_table import FailedAttempt
from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.core.render import event_text, record_text
from mesa_memory.core.requests import REASONING, ChatRequest, LLMRequest
from mesa_memory.core.text.tool_calls import said
from mesa_memory.hosts.mesa_llm import own_name
from mesa_memory.layers.base import Layer
from mesa_memory.llm.doubles.replay import response_data
from mesa_memory.retrieval import overlap
from mesa_memory.runs.recording.collector import Call, Changes, Recall
from mesa_memory.runs.recording.stored import row_of
from mesa_memory.runtime.reasoning import MEMORY_PURPOSE
from mesa_memory.stores.base import Batch
from mesa_memory.tasks import BY_RESEARCHER

#: digits of a score; further ones depend on the number of rows that numpy multiplies
SCORE_DIGITS = 6


def agent_row(memory: Any) -> dict[str, Any]:
    """The row of an agent and its memory."""
    agent = memory.agent
    return {
        "agent": str(agent.unique_id),
        "unique_id": agent.unique_id,
        "class": type(agent).__name__,
        "memory": type(memory).__name__,
        "layers": [memory.layer],
        "settings": memory_settings(memory),
        "name": own_name(agent) or None,
    }


#: what a new record has under the names of its columns
NEW_RECORD = (
    "id", "layer", "kind", "step", "content", "subject", "sources", "origin", "valid_from",
)  # fmt: skip
#: columns of a call with numbers of its reply, and their names there
REPLY_NUMBERS = {
    "tokens_in": "prompt_tokens", "tokens_out": "completion_tokens",
    "tokens_cached": "cached_tokens", "cost": "cost", "latency": "latency",
    "attempts": "attempts", "finish": "finish",
}  # fmt: skip
#: texts of a reply, which are empty if unknown, as NULL in the column
REPLY_TEXTS = ("tier", "client", "form", "answered", "response_id")


def record_row(
    record: MemoryRecord, grade: float | None, step: float
) -> dict[str, Any]:
    """A new record as it is at the end of a step.

    What happens later, be it before the row is written, is a change of its own: another
    grade, and its end.
    """
    return {name: getattr(record, name) for name in NEW_RECORD} | {
        "agent": str(record.agent),
        "text": record_text(record.kind, record.origin, record.content),
        "importance": grade,
        "graded_at": None if grade is None else step,
    }


def recall_row(recall: Recall, reply: str | None = None) -> dict[str, Any]:
    """A recall and its candidates with their scores.

    Args:
        reply: of the agent's reasoning; None if it is unknown.
    """
    noted = {"note": recall.note} if recall.note else {}
    return dict(
        recall.whose,
        agent=str(recall.whose["agent"]),
        query=recall.query,
        scoring=recall.scoring.settings() | noted,
        candidates=_with_use(_candidates(recall), recall, reply),
    )


def _with_use(
    candidates: list[dict[str, Any]], recall: Recall, reply: str | None
) -> list[dict[str, Any]]:
    """Marks each candidate that was shown: did the reply use it?"""
    if reply is not None:
        shown = [n for n, candidate in enumerate(candidates) if candidate["shown"]]
        found = used_in([recall.found[n].record for n in shown], reply)
        for number, is_used in zip(shown, found, strict=True):
            candidates[number]["used"] = is_used
    return candidates


def _candidates(recall: Recall) -> list[dict[str, Any]]:
    """The candidates of a recall; with what else says the same."""
    found, shown = recall.found, recall.shown
    if not found:
        return []
    names = ("id", "rank", "score", *found[0].parts, "shown")
    exact = [[each.score, *each.parts.values()] for each in found]
    rounded = np.array(exact).round(SCORE_DIGITS).tolist()
    candidates = [
        dict(zip(names, (each.record.id, each.rank, *row, shown(each))))
        for each, row in zip(found, rounded)
    ]
    for candidate, each in zip(candidates, found):
        if each.times > 1:
            candidate["times"] = each.times
            candidate["repetitions"] = [record.id for record in each.repetitions]
    return candidates


_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def prompt_hash(request: LLMRequest) -> str:
    """SHA-256 of the model asked, the settings and the messages; 64 hex digits."""
    return _hash(request, request.messages())


def _hash(request: LLMRequest, messages: list[dict[str, Any]]) -> str:
    text = _encode([request.model, dict(request.settings), messages])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def asking(request: LLMRequest) -> str:
    """The name of the agent that asks; empty if no agent does."""
    return "" if request.agent is None else str(request.agent)


def call_row(call: Call, then: Sequence[str] = ()) -> dict[str, Any]:
    """A request to a language model, and its answer or error.

    Args:
        then: ids of the records that followed from it; see ``decisions.followed``.
    """
    request, reply = call.request, call.reply
    prompt = request.messages()
    row: dict[str, Any] = {
        "step": request.step,
        "agent": asking(request),
        "purpose": request.purpose,
        "occurrence": call.occurrence,
        "model": (reply and reply.model) or request.model,
        "prompt": prompt,
        "prompt_hash": _hash(request, prompt),
        "asked": request.model,
        "address": request.api_base,
        "settings": dict(request.settings) or None,
        "date": call.date or None,
        "replayed": call.replayed,
        "repairs": request.repair is not None,
        "cached": bool(reply and reply.cached),
        "decision": decision(request, then),
    }
    if reply is None:
        failed = getattr(call.error, "failed", None)
        return row | {
            "error": f"{type(call.error).__name__}: {call.error}",
            "attempts": None if failed is None else len(failed),
            "failed": _attempts(failed or ()),
        }
    refusal = request.refusal
    return row | {
        "given_up": (refusal and refusal.reason) or None,
        "doubtful": (refusal and refusal.doubt) or None,
        "reply": reply.text,
        "raw": response_data(reply.raw) if isinstance(request, ChatRequest) else None,
        "failed": _attempts(reply.failed),
        **{column: getattr(reply, name) for column, name in REPLY_NUMBERS.items()},
        **{name: getattr(reply, name) or None for name in REPLY_TEXTS},
    }


def _attempts(failed: Sequence[FailedAttempt]) -> list[dict[str, Any]] | None:
    return [attempt._asdict() for attempt in failed] or None


def batch_of(
    changes: Changes,
    step: float,
    snapshot: Mapping[str, Any] | None,
    kept: bool,
    finished: bool,
    extends: bool,
) -> Batch:
    """The rows of a step, in an order that is the same in every execution.

    Args:
        changes: of the step.
        snapshot: a checkpoint, not yet encoded; None without one.
        kept, finished, extends: see ``Batch``.
    """
    grades = dict(changes.graded)
    opened = [
        record_row(record, grades.pop(record.id, None), step)
        for record in sorted(changes.opened, key=lambda record: record.order)
    ]
    calls = sorted(changes.calls, key=_call_order)
    then = followed(changes.opened, changes.calls)
    return replace(
        changes.rows,
        step=step,
        opened=opened,
        graded=[(record, grade, step) for record, grade in grades.items()],
        closed=[
            (r.id, r.valid_to, r.closed_because, r.superseded_by)  # type: ignore[misc]
            for r in changes.closed
        ],
        recalls=_recall_rows(changes),
        prompts=[row for _, row in sorted(changes.prompts, key=lambda c: c[0])],
        calls=[
            call_row(call, then.get(call.turn, ()))
            for call in calls
            if not _is_probe(call)
        ],
        probes=[call_row(call) for call in calls if _is_probe(call)],
        answers=[
            {"step": step, "key": key, "value": value}
            for key, value in sorted(changes.answers, key=lambda answer: answer[0])
        ],
        vectors=[row_of(key, vector) for key, vector in changes.vectors],
        checkpoint=None if snapshot is None else encode_snapshot(snapshot),
        kept=kept,
        finished=finished,
        extends=extends,
    )


def _call_order(call: Call) -> tuple[Any, ...]:
    """By agent and purpose; what an agent asks itself stands in the order of asking."""
    request = call.request
    if isinstance(request, ChatRequest):
        return str(request.agent), REASONING, call.turn
    return str(request.agent), request.purpose, (call.occurrence,)


def _is_probe(call: Call) -> bool:
    """True if a researcher asked, not an agent of the simulation."""
    return call.request.purpose in BY_RESEARCHER


def _recall_rows(changes: Changes) -> list[dict[str, Any]]:
    """The recalls in order, each with the candidates that the agent's reply used."""
    recalls = sorted(changes.recalls, key=lambda recall: recall.place)
    said = replies_to(recalls, changes.calls)
    return [recall_row(recall, said.get(n)) for n, recall in enumerate(recalls)]


#: parts of layers that have settings
PARTS = ("grader", "recollection", "reflector")
_PLAIN = (bool, int, float, str, type(None))


def memory_settings(memory: Any) -> dict[str, Any]:
    """Arguments of a memory and of its layers that are still to be seen in them.

    Returns:
        ``{"memory": {name: value}, "layers": {layer: {name: value}}}``, as plain
        data; other values by their class or name. For a placebo, also the text that
        is shown instead of the memory.
    """
    layers = {layer.name: _arguments(layer) for layer in memory.layers}
    own = {"repetitions": memory.repetitions, **_arguments(memory)}
    found = {"memory": own, "layers": layers}
    shown = memory.shown_instead
    return found if shown is None else found | {"shown_instead": str(shown)}


def _arguments(thing: Any) -> dict[str, Any]:
    """The arguments of a class that its object keeps under their names."""
    kept = vars(thing)
    names = [n for n in inspect.signature(type(thing)).parameters if n in kept]
    # What a layer makes of its arguments, such as a grader, has settings of its own.
    parts = [name for name in PARTS if name in kept and name not in names]
    return {name: _told(kept[name]) for name in (*names, *parts) if name != "agent"}


def _told(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple):
        return [_told(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _told(each) for key, each in value.items()}
    if isinstance(value, type) or inspect.isroutine(value):
        return getattr(value, "__qualname__", repr(value))
    named = type(value).__qualname__
    if isinstance(value, Layer) or not hasattr(value, "__dict__"):
        return named
    return _arguments(value) or named


#: of the recalls that are read for such a request
READ_PURPOSE = "prompt"
#: as much of a line is compared
LINE_CHARS = 2000


def replies_to(recalls: Sequence[Recall], calls: Iterable[Call]) -> dict[int, str]:
    """The replies after each recall, by its place among the recalls.

    Replies belong to all that the agent read since those before. A recall after which
    nothing was said, such as of an agent whose reasoning goes elsewhere, is not there.
    """
    read = [
        (recall.place, number, None)
        for number, recall in enumerate(recalls)
        if recall.whose.get("purpose") == READ_PURPOSE
    ]
    told = [
        (call.turn, len(recalls), call)
        for call in calls
        if _decides(call.request) and call.reply is not None
    ]
    found: dict[int, list[str]] = {}
    shown: dict[Any, list[int]] = {}  # numbers of what each agent has read last
    answered: set[Any] = set()
    for _, number, call in sorted(chain(read, told), key=lambda each: each[:2]):
        if call is None:
            agent = recalls[number].whose["agent"]
            if agent in answered:
                answered.discard(agent)
                shown[agent] = []
            shown.setdefault(agent, []).append(number)
        else:
            agent = call.request.agent
            answered.add(agent)
            for place in shown.get(agent, ()):
                found.setdefault(place, []).append(_said(call))
    return {place: "\n".join(texts) for place, texts in found.items()}


def used_in(records: Sequence[MemoryRecord], reply: str) -> list[bool]:
    """For each record, shown together with the others: did the reply use it?"""
    lines = [event_text(each.kind, each.content, LINE_CHARS) for each in records]
    return overlap.used(lines, reply)


def _said(call: Call) -> str:
    assert call.reply is not None
    raw = response_data(call.reply.raw) if call.reply.raw is not None else None
    return said(call.reply.text, raw)


def decision(request: LLMRequest, then: Sequence[str]) -> dict[str, Any] | None:
    """The column ``decision`` of a call; None for a request of a memory, whosever.

    Args:
        then: ids of the records that followed from it.
    """
    if not isinstance(request, ChatRequest) or not _decides(request):
        return None
    given = request.given
    form = given.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) else None
    return {
        "tools": [_tool_name(tool) for tool in given.get("tools") or ()],
        "tool_choice": given.get("tool_choice"),
        "response_format": named.get("name") if isinstance(named, dict) else None,
        "followed": list(then),
    }


def followed(
    opened: Iterable[MemoryRecord], calls: Iterable[Call]
) -> dict[tuple[float, ...], list[str]]:
    """Ids of the events of an agent after each of its requests, by turn.

    They are what it did and said until its next request: each event that its memory
    got, without the messages of others.
    """
    asked: dict[str, list[tuple[float, ...]]] = {}
    for call in calls:
        if _decides(call.request):
            asked.setdefault(str(call.request.agent), []).append(call.turn)
    events: dict[str, list[MemoryRecord]] = {}
    for record in opened:
        if record.origin == EVENT and str(record.agent) in asked and _is_own(record):
            events.setdefault(str(record.agent), []).append(record)
    found: dict[tuple[float, ...], list[str]] = {}
    for agent, turns in asked.items():
        own = sorted(events.get(agent, ()), key=lambda record: record.order)
        for turn, until in pairwise([*sorted(turns), (float("inf"),)]):
            found[turn] = [r.id for r in own if turn < r.order < until]
    return found


def _decides(request: LLMRequest) -> bool:
    """True for an agent's own request; False for one of Mesa-LLM's memories."""
    return isinstance(request, ChatRequest) and request.purpose != MEMORY_PURPOSE


def _is_own(record: MemoryRecord) -> bool:
    """False for a message of another agent."""
    content = record.content
    is_message = record.kind == "message" and isinstance(content, dict)
    return not is_message or str(content.get("sender")) == str(record.agent)


def _tool_name(tool: Any) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    return str(function.get("name")) if isinstance(function, dict) else str(tool)
