"""The parts of a request: whose tokens fill the context window."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mesa_memory.core.content import count_tokens

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
