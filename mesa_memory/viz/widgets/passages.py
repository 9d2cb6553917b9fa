"""Texts to be read one below the other, each with what is to be known of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import solara


@dataclass(frozen=True)
class Mark:
    """A word about a text, such as what became of it.

    Attributes:
        icon: of Material Design Icons; what it means stands in the text, too.
        goes: it is a button.
    """

    text: str
    icon: str = ""
    goes: bool = False


@dataclass(frozen=True)
class Passage:
    """A text with its heading.

    Attributes:
        kind: ``"said"``, ``"own"`` (at the right) or ``"told"`` (across the page).
        faded: its words are not there any more.
    """

    head: str
    text: str
    marks: Sequence[Mark] = field(default_factory=tuple)
    kind: str = "said"
    faded: bool = False


@solara.component_vue("passages.vue")
def _Passages(
    items: list[dict[str, Any]], label: str, event_go: Callable[[dict[str, int]], None]
) -> None: ...


@solara.component
def Passages(
    texts: Sequence[Passage],
    *,
    label: str,
    on_go: Callable[[int, int], None] | None = None,
) -> Any:
    """Texts as a list; whatever agents have written is shown as text.

    Args:
        label: what the list shows, for those who cannot see it.
        on_go: called with the places of a text and of that of its marks that was
            pressed.
    """
    items = [
        {
            "head": one.head,
            "text": one.text,
            "kind": one.kind,
            "faded": one.faded,
            "marks": [
                {"text": mark.text, "icon": mark.icon, "goes": mark.goes}
                for mark in one.marks
            ],
        }
        for one in texts
    ]

    def go(at: dict[str, int]) -> None:
        if on_go is not None:
            on_go(int(at["line"]), int(at["mark"]))

    return _Passages(items=items, label=label, event_go=go)
