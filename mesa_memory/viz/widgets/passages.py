"""Texts one below the other: as a list with marks, or as a tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import solara


@dataclass(frozen=True)
class PassageMark:
    """A word about a text, such as the state of its record.

    Attributes:
        icon: of Material Design Icons; what it means stands in the text, too.
        on_click: makes the word a button.
    """

    text: str
    icon: str = ""
    on_click: Callable[[], None] | None = None


@dataclass(frozen=True)
class Passage:
    """A text with its heading.

    Attributes:
        kind: ``"said"``, ``"own"`` (at the right) or ``"told"`` (across the page).
        faded: its words are not there any more.
    """

    head: str
    text: str
    marks: Sequence[PassageMark] = field(default_factory=tuple)
    kind: str = "said"
    faded: bool = False


@solara.component_vue("passages.vue")
def _Passages(
    items: list[dict[str, Any]], label: str, event_go: Callable[[dict[str, int]], None]
) -> None: ...


def Passages(texts: Sequence[Passage], *, label: str) -> Any:
    """Texts as a list; the words of agents are shown as text.

    Args:
        label: describes the list to screen readers.
    """
    items = [
        vars(one)
        | {
            "marks": [
                {"text": mark.text, "icon": mark.icon, "goes": bool(mark.on_click)}
                for mark in one.marks
            ]
        }
        for one in texts
    ]

    def go(at: dict[str, int]) -> None:
        click = texts[int(at["line"])].marks[int(at["mark"])].on_click
        if click is not None:
            click()

    return _Passages(items=items, label=label, event_go=go)


@solara.component_vue("tree.vue")
def Tree(
    nodes: list[dict[str, Any]], label: str, event_go: Callable[[int], None]
) -> None:
    """Lines that have others below them; every text is shown as text.

    Arrow keys walk through it, left and right close and open, Enter goes there.

    Args:
        nodes: depth first, each with ``id``, ``depth``, ``head``, ``note``, ``text`` and
            ``known``; the first has depth 0. Those of the first levels are open.
        label: describes the tree to screen readers.
        event_go: called with the place of a node when one wants to go to its record.
    """
