"""What a page says: headings, facts, texts of agents, what is missing, what failed."""

from collections.abc import Sequence
from typing import Any

import solara

from mesa_memory.core.redaction import scrub
from mesa_memory.errors import MesaMemoryError
from mesa_memory.viz.data.wording import ADDED, REMOVED

_TAGS = {ADDED: "ins", REMOVED: "del"}


@solara.component
def Section(title: str, children: Sequence[Any] = (), hint: str = "") -> Any:
    """A card with a heading; use it with ``with``.

    Args:
        hint: a sentence beside the heading.
    """
    head: list[Any] = [solara.v.Html(tag="h3", children=[title])]
    if hint:
        head.append(solara.v.Html(tag="span", class_="mm-hint", children=[hint]))
    return solara.v.Sheet(
        class_="mm-section",
        children=[solara.v.Html(tag="header", children=head), *children],
    )


@solara.component
def Fact(label: str, value: str) -> Any:
    """A number and what it is."""
    number = solara.v.Html(tag="strong", children=[value])
    name = solara.v.Html(tag="span", children=[label])
    return solara.v.Html(tag="div", class_="mm-fact", children=[number, name])


@solara.component
def Plain(text: str | Sequence[tuple[str, str]]) -> Any:
    """A text exactly as it is, with its line breaks; nothing in it is markup.

    Args:
        text: or pieces of ``wording.changes``: what was added is underlined, what was
            removed is struck through.
    """
    pieces = [("same", text)] if isinstance(text, str) else text
    children = [
        solara.v.Html(tag=_TAGS.get(mark, "span"), children=[piece])
        for mark, piece in pieces
    ]
    return solara.v.Html(tag="pre", class_="mm-text", children=children)


@solara.component
def Note(text: str, kind: str = "info") -> Any:
    """A sentence that one should see.

    Args:
        kind: ``"info"``, ``"warning"`` or ``"error"``.
    """
    return solara.v.Alert(
        type=kind, dense=True, text=True, class_="mm-note", children=[text]
    )


@solara.component
def Empty(text: str, icon: str = "mdi-tray") -> Any:
    """Says that there is nothing yet, why, and what to do."""
    mark = solara.v.Icon(children=[icon], large=True)
    said = solara.v.Html(tag="p", children=[text])
    return solara.v.Html(tag="div", class_="mm-empty", children=[mark, said])


@solara.component
def Failure(error: BaseException) -> Any:
    """Says what went wrong; other views go on."""
    known = isinstance(error, MesaMemoryError | ValueError)
    text = str(error) if known else f"{type(error).__name__}: {error}"
    return Note(scrub(text), "error")
