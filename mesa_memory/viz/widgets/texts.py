"""Texts of agents one below the other, exactly as they are; nothing in them is markup."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import solara

from mesa_memory.viz.data.decisions import USED
from mesa_memory.viz.data.text_diff import ADDED, REMOVED

#: a text with more characters may be higher than its box
SCROLLING_CHARS = 300
#: a text with more characters is closed at first
FOLDED_CHARS = 1200
_TAGS = {ADDED: "ins", REMOVED: "del", USED: "mark"}


@dataclass(frozen=True)
class TextBlock:
    """A text with its heading.

    Attributes:
        head: the heading; empty for none.
        text: the text, or pieces, each with its mark. Pieces of ``text_diff.changes`` are
            underlined or struck through; pieces that an answer used have another ground.
        hint: a sentence below the text, or in its place.
        folded: whether the heading opens and closes the text.
        sent: whether a language model read the text, which is shown in its letters.
    """

    head: str = ""
    text: str | Sequence[tuple[str, str]] = ""
    hint: str = ""
    folded: bool = False
    sent: bool = False


@solara.component_vue("texts.vue")
def _Texts(texts: str) -> None: ...


def Texts(blocks: Sequence[TextBlock]) -> Any:
    """Texts as one widget."""
    # As text: else every drawing of the page would walk through all the pieces.
    return _Texts(texts=json.dumps([_drawn(block) for block in blocks]))


def Plain(text: str | Sequence[tuple[str, str]], sent: bool = False) -> Any:
    """One text without a heading, see ``TextBlock``."""
    return Texts([TextBlock(text=text, sent=sent)])


def long_text(head: str, text: str) -> TextBlock:
    """A text with a heading; of a long one, the heading opens and closes it."""
    if len(text) <= FOLDED_CHARS:
        return TextBlock(head, text)
    return TextBlock(f"{head}, {len(text):,} characters", text, folded=True)


def _drawn(block: TextBlock) -> dict[str, Any]:
    text = block.text
    pieces = [("", text)] if isinstance(text, str) else text
    return {
        "head": block.head,
        "pieces": [(_TAGS.get(mark, "span"), said) for mark, said in pieces if said],
        "hint": block.hint,
        "folded": block.folded,
        "sent": block.sent,
        # A long text scrolls in its box, which the keyboard has to reach for that.
        "long": sum(len(said) for _, said in pieces) > SCROLLING_CHARS,
    }
