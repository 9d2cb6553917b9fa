"""The context window of a request, part by part."""

from collections.abc import Sequence
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
from mesa_memory.core.content import brief
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.requests import parts as data
from mesa_memory.viz.data.requests.requests import Request
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.widgets import Chart, Column, Section, Table

HEADS = (
    Column("part"),
    Column("from"),
    Column("tokens", number=True),
    Column("share", number=True),
    Column("begins with", wide=True),
)
#: characters of a part that stand in the table; the request above has all
SHOWN_CHARS = 160
#: parts with a bar of their own; the others are one bar together
BARS = 7


@solara.component
def Window(source: Source, request: Request, agent: Any) -> Any:
    """What filled the context window: a bar and a table, with shares of tokens."""
    shown = source.of(memories.shown, agent, request.row["step"])
    found = data.parts(request.messages, [row["text"] or "" for row in shown])
    option = solara.use_memo(
        lambda: _bar(found) if found else {}, [request.id, len(shown)]
    )
    if not found:
        return
    told = request.row["tokens_in"]
    counted = sum(part.tokens for part in found)
    known = "" if told is None else f"; the provider counted {told:,}"
    with Section(
        "Context window", hint=f"about {counted:,} tokens, four characters each{known}"
    ):
        Chart(
            option,
            label=f"Tokens of the {len(found)} parts of the request, as one bar; the "
            "table below has the same numbers",
            height=150,
            file=f"request-{request.id}-window",
        )
        Table(
            HEADS,
            [
                [
                    part.label,
                    "memory" if part.memory else "instructions and the rest",
                    part.tokens,
                    round(share, 4),
                    brief(part.text, SHOWN_CHARS),
                ]
                for part, share in zip(found, data.shares(found))
            ],
            file=f"request-{request.id}-parts",
        )


def _bar(found: Sequence[data.RequestPart]) -> dict[str, Any]:
    """One bar of all parts, the small ones together."""
    least = sorted((part.tokens for part in found), reverse=True)[:BARS][-1]
    sizes: dict[str, int] = {}
    for part in found:
        name = (
            part.label if part.tokens >= least and len(sizes) < BARS else "other parts"
        )
        sizes[name] = sizes.get(name, 0) + part.tokens
    series = [
        curves.bar(n, name, [size]) for n, (name, size) in enumerate(sizes.items())
    ]
    return curves.lying([""], "tokens", series)
