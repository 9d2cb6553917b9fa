"""The context window of a request, part by part."""

from typing import Any

import solara

from mesa_memory.core.content import brief
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.requests import parts as data
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Section, Table

#: characters of a part in the table; the request above has all
TABLE_CHARS = 160


@solara.component
def ContextWindow(focus: Focus, request: memories.Row) -> Any:
    """The parts that filled the context window, with their shares of tokens."""
    shown = focus.source.of(memories.shown, focus.agent, request["step"])
    found = data.parts(request["messages"], [row["text"] or "" for row in shown])
    if not found:
        return
    sent = request["tokens_in"]
    counted = sum(part.tokens for part in found)
    known = "" if sent is None else f"; the provider counted {sent:,}"
    with Section(
        "Context window", hint=f"about {counted:,} tokens, four characters each{known}"
    ):
        Table(
            {
                "part": lambda part: part.label,
                "from": lambda part: "memory" if part.memory else "instructions",
                "tokens": lambda part: part.tokens,
                "share": lambda part: round(part.tokens / counted, 4),
                "begins with": lambda part: brief(part.text, TABLE_CHARS),
            },
            found,
            file=f"request-{request['id']}-parts",
        )
