"""The records that an agent's reply used, of those it was shown."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.render import event_text
from mesa_memory.core.text.tool_calls import functions
from mesa_memory.llm.doubles.replay import response_data
from mesa_memory.retrieval import overlap
from mesa_memory.runs.recording.changes import Call, Recall

#: of the requests with which an agent reasons, if they go through the package
REASONING_PURPOSE = "reasoning"
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
    said = [
        (call.turn, len(recalls), call)
        for call in calls
        if call.request.purpose == REASONING_PURPOSE and call.reply is not None
    ]
    found: dict[int, list[str]] = {}
    shown: dict[Any, list[int]] = {}  # numbers of what each agent has read last
    answered: set[Any] = set()
    for _, number, call in sorted(chain(read, said), key=lambda each: each[:2]):
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
                found.setdefault(place, []).append(text_of(call))
    return {place: "\n".join(texts) for place, texts in found.items()}


def used_in(records: Sequence[MemoryRecord], reply: str) -> list[bool]:
    """For each record, shown together with the others: did the reply use it?"""
    return overlap.used([_line(record) for record in records], reply)


def text_of(call: Call) -> str:
    """All that a reply says: its text, and the arguments of the tools that it calls."""
    assert call.reply is not None
    raw = response_data(call.reply.raw) if call.reply.raw is not None else None
    arguments = (str(one.get("arguments") or "") for one in functions(raw))
    return "\n".join([call.reply.text or "", *arguments])


def _line(record: MemoryRecord) -> str:
    return event_text(record.kind, record.content, LINE_CHARS)
