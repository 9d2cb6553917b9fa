"""Headings, facts, empty views and errors, with their frames."""

from collections.abc import Callable, Mapping
from typing import Any

import solara

from mesa_memory.core.text.redaction import scrub
from mesa_memory.errors import MesaMemoryError


def Section(title: str, hint: str = "") -> Any:
    """A card with a heading; use it with ``with``.

    Args:
        hint: a sentence beside the heading.
    """
    head: list[Any] = [solara.v.Html(tag="h3", children=[title])]
    if hint:
        head.append(solara.v.Html(tag="span", class_="mm-hint", children=[hint]))
    return solara.v.Sheet(
        class_="mm-section", children=[solara.v.Html(tag="header", children=head)]
    )


def Answer(text: str) -> Any:
    """The answer of a view, in one sentence above all its parts."""
    return solara.v.Html(tag="p", class_="mm-answer", children=[text])


def Hint(text: str) -> Any:
    """A sentence of less weight."""
    return solara.v.Html(tag="p", class_="mm-hint", children=[text])


def Fact(label: str, value: str, title: str | None = None) -> Any:
    """A number with its label.

    Args:
        title: all of it, if ``value`` is short for it; shown where one points.
    """
    number = solara.v.Html(tag="strong", children=[value])
    name = solara.v.Html(tag="span", children=[label])
    whole = {"title": title} if title else {}
    return solara.v.Html(
        tag="div", class_="mm-fact", attributes=whole, children=[number, name]
    )


def Facts(facts: Mapping[str, Any]) -> Any:
    """A row of numbers with their labels."""
    children = [Fact(label, str(value)) for label, value in facts.items()]
    return solara.v.Html(tag="div", class_="mm-row", children=children)


def Note(text: str, kind: str = "info") -> Any:
    """A sentence that one should see.

    Args:
        kind: ``"info"``, ``"warning"`` or ``"error"``.
    """
    return solara.v.Alert(
        type=kind, dense=True, text=True, class_="mm-note", children=[text]
    )


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


def Failure(error: BaseException) -> Any:
    """The message of an error; other views go on."""
    known = isinstance(error, MesaMemoryError | ValueError)
    text = str(error) if known else f"{type(error).__name__}: {error}"
    return Note(scrub(text), "error")


@solara.component_vue("fold.vue")
def _OpenIfWide() -> None: ...


def Fold(title: str) -> Any:
    """A part that is less often needed, open at first on a wide screen only.

    Use it with ``with``.

    Args:
        title: always to be seen; opens and closes the rest.
    """
    head = solara.v.Html(tag="summary", children=[title])
    children = [head, _OpenIfWide()]
    return solara.v.Html(tag="details", class_="mm-fold", children=children)


@solara.component_vue("host.vue")
def HostPage() -> None:
    """Names the buttons of the page's bar, and closes a drawer that covers the page.

    Invisible. Solara's drawer is 400 pixels wide and open at first; on a small screen it
    hides everything, with no room beside it for the click that closes it.
    """
