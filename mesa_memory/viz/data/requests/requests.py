"""The requests of an agent to language models, with their replies."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.arguments import readable
from mesa_memory.core.content import brief, count_tokens
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


#: names of the roles of messages, as people read them
ROLES = {"system": "system text", "user": "prompt", "assistant": "earlier reply"}
#: a line that is a heading: it stands alone, and what agents say never does
_HEADING = re.compile(r"#{0,4} ?(?P<name>[A-Z][^:\n]{1,60}):?\s*")
#: lines of events, and the steps above them
_CONTENT = re.compile(r"- |\d|Step |Steps |\(")


@dataclass(frozen=True)
class RequestPart:
    """A part of a request.

    Attributes:
        role: role of its message, see ``ROLES``.
        name: its heading; empty before the first one.
        memory: it is a text of the agent's memory.
        tokens: an estimate.
    """

    role: str
    name: str
    text: str
    memory: bool
    tokens: int

    @property
    def label(self) -> str:
        """Role and heading."""
        return f"{self.role}: {self.name}" if self.name else self.role


def parts(
    messages: Iterable[tuple[str, str]], memories: Iterable[str] = ()
) -> list[RequestPart]:
    """The parts of a request, heading by heading, in order.

    Args:
        messages: (role, text).
        memories: the texts of memory that the agent was shown in this step.
    """
    shown = " ".join(" ".join(text.split()) for text in memories)
    found = []
    for role, text in messages:
        for name, lines in _blocks(text):
            told = "\n".join(lines).strip()
            if not told:
                continue
            body = " ".join(" ".join(lines[bool(name) :]).split())
            memory = bool(body) and body in shown
            said = ROLES.get(role, role)
            found.append(RequestPart(said, name, told, memory, count_tokens(told)))
    return found


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """(heading, lines) of each block; the heading is the first of its lines."""
    blocks: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        name = _heading(line)
        if name:
            blocks.append((name, [line]))
        else:
            blocks[-1][1].append(line)
    return blocks


def _heading(line: str) -> str:
    """The name in a line that is a heading; empty for any other line."""
    if _CONTENT.match(line) or not (
        line.startswith("#") or line.rstrip().endswith(":")
    ):
        return ""
    found = _HEADING.fullmatch(line.strip())
    return found["name"].strip() if found else ""
