"""The decisions of agents: their own requests, what they had read, and what followed."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.core.render import event_text
from mesa_memory.core.requests import ChatRequest, LLMRequest
from mesa_memory.core.text.tool_calls import said
from mesa_memory.llm.doubles.replay import response_data
from mesa_memory.retrieval import overlap
from mesa_memory.runs.recording.collector import Call, Recall
from mesa_memory.runtime.reasoning import MEMORY_PURPOSE

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
    return overlap.used([_line(record) for record in records], reply)


def _said(call: Call) -> str:
    assert call.reply is not None
    raw = response_data(call.reply.raw) if call.reply.raw is not None else None
    return said(call.reply.text, raw)


def _line(record: MemoryRecord) -> str:
    return event_text(record.kind, record.content, LINE_CHARS)


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
