"""One agent beside the picture of its step: parts with lines that are buttons."""

import json
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


@dataclass(frozen=True)
class PersonStep:
    """An agent in one step.

    Attributes:
        place: of the step.
        step: its name.
        parts: in order.
    """

    place: int
    step: str
    parts: Sequence[PersonPart]


@solara.component_vue("person.vue")
def _Pages(
    version: str,
    called: str,
    begin: int,
    count: int,
    pages: str,
    most: int,
    event_need: Callable[[int], None],
    event_pick: Callable[[dict[str, int]], None],
    event_all: Callable[[int], None],
) -> None: ...


@solara.component
def PersonPages(
    version: str,
    called: str,
    pages: Sequence[PersonStep],
    begin: int,
    count: int,
    on_need: Callable[[int], None],
    on_all: Callable[[int], None],
) -> Any:
    """One agent in the step of the page's slider; every text is shown as text.

    Args:
        version: another one makes the browser forget the pages that it has.
        called: the agent's name.
        pages: earlier ones are kept. The same object until a new one comes.
        begin: place of the step that is shown at first; then it is the slider's.
        count: number of steps.
        on_need: called with the place of a step whose page is missing.
        on_all: called with the place of the step whose memory is wanted.
    """
    known = solara.use_memo(dict[int, PersonStep], [version])
    known.update({page.place: page for page in pages})
    # As text: else every drawing of the page would walk through all the lines.
    held = solara.use_memo(lambda: json.dumps(pages, default=_shown), [id(pages)])

    def pick(at: dict[str, int]) -> None:
        known[at["place"]].parts[at["part"]].lines[at["line"]].on_click()

    return _Pages(
        version=version,
        called=called,
        begin=begin,
        count=count,
        pages=held,
        most=FIRST_LINES,
        event_need=on_need,
        event_pick=pick,
        event_all=on_all,
    )


def _shown(one: Any) -> dict[str, Any] | None:
    """The fields of a step, part or line; functions are not sent to the browser."""
    return None if callable(one) else vars(one)
