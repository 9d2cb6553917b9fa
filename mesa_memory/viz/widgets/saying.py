"""Headings, facts, texts of agents, empty views and errors, with their frames."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import solara

from mesa_memory.core.text.redaction import scrub
from mesa_memory.errors import MesaMemoryError
from mesa_memory.viz.data.decisions import USED
from mesa_memory.viz.data.wording import ADDED, REMOVED

#: a text with more characters may be higher than its box
SCROLLING_CHARS = 300
#: a text with more characters is closed at first
FOLDED_CHARS = 1200
_TAGS = {ADDED: "ins", REMOVED: "del", USED: "mark"}


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


def Answer(text: str) -> Any:
    """The answer of a view, in one sentence above all its parts."""
    return solara.v.Html(tag="p", class_="mm-answer", children=[text])


def Hint(text: str) -> Any:
    """A sentence of less weight."""
    return solara.v.Html(tag="p", class_="mm-hint", children=[text])


@solara.component
def Fact(label: str, value: str) -> Any:
    """A number with its label."""
    number = solara.v.Html(tag="strong", children=[value])
    name = solara.v.Html(tag="span", children=[label])
    return solara.v.Html(tag="div", class_="mm-fact", children=[number, name])


@solara.component
def Facts(facts: Mapping[str, Any]) -> Any:
    """A row of numbers with their labels."""
    children = [Fact(label, str(value)) for label, value in facts.items()]
    return solara.v.Html(tag="div", class_="mm-row", children=children)


@solara.component
def Plain(text: str | Sequence[tuple[str, str]]) -> Any:
    """A text exactly as it is, with its line breaks; nothing in it is markup.

    Args:
        text: or pieces, each with its mark. Pieces of ``wording.changes`` are underlined
            or struck through; pieces that an answer used have another ground.
    """
    pieces = [("same", text)] if isinstance(text, str) else text
    children = [
        solara.v.Html(tag=_TAGS.get(mark, "span"), children=[piece])
        for mark, piece in pieces
    ]
    length = sum(len(piece) for _, piece in pieces)
    # A long text scrolls in its box, which the keyboard has to reach for that.
    attributes = {"tabindex": "0"} if length > SCROLLING_CHARS else {}
    return solara.v.Html(
        tag="pre", class_="mm-text", children=children, attributes=attributes
    )


@solara.component
def LongText(title: str, text: str) -> Any:
    """A text with a heading; of a long one, the heading opens and closes it."""
    if len(text) <= FOLDED_CHARS:
        solara.v.Html(tag="h4", children=[title])
        Plain(text)
    else:
        Fold(f"{title}, {len(text):,} characters", [Plain(text)], if_wide=False)


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
def Empty(
    text: str,
    icon: str = "mdi-tray",
    button: str = "",
    on_click: Callable[[], None] | None = None,
) -> Any:
    """A view without content: the reason, and a remedy.

    Args:
        text: a sentence or two.
        icon: of Material Design Icons.
        button: does it at once; empty if nothing can be done here.
        on_click: called by the button.
    """
    with solara.v.Html(tag="div", class_="mm-empty"):
        solara.v.Icon(children=[icon], large=True)
        solara.v.Html(tag="p", children=[text])
        if button and on_click is not None:
            solara.Button(button, on_click=on_click, outlined=True, classes=["mm-do"])


@solara.component
def Failure(error: BaseException) -> Any:
    """The message of an error; other views go on."""
    known = isinstance(error, MesaMemoryError | ValueError)
    text = str(error) if known else f"{type(error).__name__}: {error}"
    return Note(scrub(text), "error")


@solara.component_vue("fold.vue")
def _OpenIfWide() -> None: ...


@solara.component
def Fold(title: str, children: Sequence[Any] = (), if_wide: bool = True) -> Any:
    """A part that is less often needed; use it with ``with``.

    Args:
        title: always to be seen; opens and closes the rest.
        children: the rest.
        if_wide: whether it is open at first on a wide screen.
    """
    head = solara.v.Html(tag="summary", children=[title])
    opener = [_OpenIfWide()] if if_wide else []
    inner = solara.v.Html(tag="div", children=[*opener, *children])
    return solara.v.Html(tag="details", class_="mm-fold", children=[head, inner])


@solara.component_vue("host.vue")
def HostPage() -> None:
    """Names the buttons of the page's bar, and closes a drawer that covers the page.

    Invisible. Solara's drawer is 400 pixels wide and open at first; on a small screen it
    hides everything, with no room beside it for the click that closes it.
    """
