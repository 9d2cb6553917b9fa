"""The requests of an agent to language models, with their replies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.text.replies import asks_again
from mesa_memory.core.text.tool_calls import functions
from mesa_memory.runs import Run
from mesa_memory.stores.schema import calls
from mesa_memory.viz.data import reading
from mesa_memory.viz.data.agent import Row


@dataclass(frozen=True)
class RequestedTool:
    """A tool that a reply calls.

    Attributes:
        arguments: as the model wrote them.
    """

    name: str
    arguments: str


@dataclass(frozen=True)
class Request:
    """A request as it was recorded.

    Attributes:
        row: its columns; see ``schema.calls``.
        messages: (role, text), oldest first.
        tools: tool calls of the reply.
    """

    row: Row
    messages: tuple[tuple[str, str], ...]
    tools: tuple[RequestedTool, ...]

    @property
    def id(self) -> str:
        """Its name in an address: its place in the run."""
        return str(self.row["seq"])

    @property
    def repairs(self) -> bool:
        """True if it asks again after a reply that could not be used."""
        last = self.messages[-1] if len(self.messages) > 1 else ("", "")
        return last[0] == "user" and asks_again(last[1])

    @property
    def reply(self) -> str:
        """The text of the reply; empty without one."""
        return self.row["reply"] or ""

    @property
    def outcome(self) -> str:
        """Its outcome, in a few words."""
        if self.row["error"] is not None:
            return "failed"
        if self.row["replayed"]:
            return "from a recorded run"
        if self.row["cached"]:
            return "from a cache"
        return self.row["finish"] or "answered"


def requests(run: Run, agent: Any, after: float, step: float) -> list[Request]:
    """An agent's requests of a step, in the order they were recorded.

    Args:
        after: the finished step before it; what came between the two belongs to it.
    """
    within = (calls.c.step > after, calls.c.step <= step)
    return [_request(row) for row in reading.of_agent(run, calls, agent, *within)]


def _request(row: Row) -> Request:
    raw = row.pop("raw", None)
    given = row.pop("prompt", None)
    messages = [one for one in given or () if isinstance(one, Mapping)]
    said = tuple((str(m.get("role") or "?"), _said(m.get("content"))) for m in messages)
    return Request(row, said, _tools(raw))


def _said(content: Any) -> str:
    """The text of a message; other parts as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, indent=1)


def _tools(raw: Any) -> tuple[RequestedTool, ...]:
    """The calls of tools in a provider's response, without damaged ones."""
    return tuple(
        RequestedTool(str(one["name"]), _said(one.get("arguments")))
        for one in functions(raw)
        if one.get("name")
    )
