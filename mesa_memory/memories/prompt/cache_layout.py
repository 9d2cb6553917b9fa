"""A memory's text for requests with a cached prefix: new text is appended.

What stands in it once stays as it is until a whole block of steps leaves. So no line is
rewritten because it was repeated later; the repetition refers to it instead.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.events import ROUTINE_KINDS
from mesa_memory.core.wording import ENGLISH, Wording
from mesa_memory.layers.evicted_block import beyond
from mesa_memory.layers.lines import Line

#: of a repeated line, as much is said again
REPEATED_CHARS = 60


class AppendOnlyText:
    """Lines as text, one block of text for each step, oldest first.

    Args:
        lines: events, oldest first.
        limit: most characters of the steps; the oldest steps beyond it are left out, a
            whole block at a time.
        block: how many steps there are in a block.
        wording: of the steps and notes.

    Attributes:
        text: empty without lines.
        ids: of the records that it tells of.
    """

    def __init__(
        self, lines: Iterable[Line], limit: int, block: int, wording: Wording = ENGLISH
    ) -> None:
        told = by_step(lines)
        left_out = beyond(
            [(s, _whole(s, own, wording)) for s, own in told], limit, block
        )
        shown = appended(told[left_out:], wording)
        if len(shown) == 1:
            shown = [render.newest(shown[0], limit, wording)]
        if left_out:
            shown.insert(0, render.told(wording, "left out steps", count=left_out))
        self.text = "\n".join(shown)
        self.ids = {
            key for _, own in told[left_out:] for line in own for key in line.ids
        }


def by_step(lines: Iterable[Line]) -> list[tuple[Any, list[Line]]]:
    """Lines by their step, in the order given."""
    steps: dict[Any, list[Line]] = {}
    for line in lines:
        steps.setdefault(line.step, []).append(line)
    return list(steps.items())


def _whole(step: Any, lines: Iterable[Line], wording: Wording) -> str:
    return render.step_text(step, [line.text for line in lines], wording)


def appended(
    steps: Iterable[tuple[Any, Sequence[Line]]], wording: Wording = ENGLISH
) -> list[str]:
    """The text of each step; a verbatim repetition refers to its first step."""
    first: dict[tuple[str, str], Any] = {}
    texts = []
    for step, lines in steps:
        said = []
        for line in lines:
            key = (line.kind, line.text)
            before = first.setdefault(key, step) if line.kind in ROUTINE_KINDS else step
            said.append(
                line.text if before == step else _again(line.text, before, wording)
            )
        texts.append(render.step_text(step, said, wording))
    return texts


def _again(text: str, step: Any, wording: Wording) -> str:
    short = render.shorten(text, REPEATED_CHARS)
    if short == text:  # a reference would be as long
        return text
    told = {"line": short, "step": render.value_text(step)}
    return render.told(wording, "the same as", **told)
