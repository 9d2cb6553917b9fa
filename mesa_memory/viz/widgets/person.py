"""One agent beside the picture of its step: parts with lines that are buttons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import solara

#: lines of each part at first
FIRST_LINES = 6


@dataclass(frozen=True)
class PersonLine:
    """A line.

    Attributes:
        text: its words.
        on_click: goes to the view that explains it.
        head: stands before the words, such as the recipients.
        note: stands behind the words, such as a reason.
        faint: it was left out of a prompt, as ``note`` says.
    """

    text: str
    on_click: Callable[[], None]
    head: str = ""
    note: str = ""
    faint: bool = False


@dataclass(frozen=True)
class PersonPart:
    """One kind of things that an agent did.

    Attributes:
        title: the heading.
        lines: in order; after the first some are shown with a click.
        empty: stands there without lines.
        goes: the tooltip of a line.
        tail: a sentence below the lines.
    """

    title: str
    lines: Sequence[PersonLine]
    empty: str
    goes: str
    tail: str = ""


@solara.component_vue("person.vue")
def PersonPages(
    version: str,
    called: str,
    begin: int,
    count: int,
    pages: str,
    most: int,
    event_need: Callable[[int], None],
    event_pick: Callable[[dict[str, int]], None],
    event_all: Callable[[int], None],
) -> None:
    """One agent in the step of the page's slider; every text is shown as text.

    Args:
        version: another one makes the browser forget the pages that it has.
        called: the agent's name.
        begin: place of the step that is shown at first; then it is the slider's.
        count: number of steps.
        pages: JSON of new pages, each with ``place`` and ``step`` (the name) of its step,
            and ``parts``; earlier ones are kept.
        most: lines of a part that are shown at first.
        event_need: called with the place of a step whose page is missing.
        event_pick: called with the ``place``, ``part`` and ``line`` of a click.
        event_all: called with the place of the step whose memory is wanted.
    """


def sent(one: Any) -> dict[str, Any] | None:
    """The fields of a part or line; functions are not sent to the browser."""
    return None if callable(one) else vars(one)
