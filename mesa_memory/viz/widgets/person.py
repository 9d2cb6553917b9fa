"""One agent beside the picture of its step: parts with lines that are buttons."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import solara

#: lines of each part at first
LINES = 6


@dataclass(frozen=True)
class Line:
    """A line.

    Attributes:
        text: what it says.
        head: of what, to whom or what, in front of it.
        note: why or since when, behind it.
        faint: it was left out of something, as ``note`` says.
    """

    text: str
    head: str = ""
    note: str = ""
    faint: bool = False


@dataclass(frozen=True)
class Part:
    """What an agent did in one way.

    Attributes:
        title: the heading.
        lines: in order; after the first some are shown with a click.
        empty: stands there if there are none.
        goes: where a line leads to, shown when one points at it.
        tail: a sentence below the lines.
    """

    title: str
    lines: Sequence[Line]
    empty: str
    goes: str
    tail: str = ""


@dataclass(frozen=True)
class Page:
    """An agent in one step.

    Attributes:
        place: of the step.
        step: its name.
        parts: in order.
    """

    place: int
    step: str
    parts: Sequence[Part]


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
def Pages(
    version: str,
    called: str,
    pages: Sequence[Page],
    begin: int,
    count: int,
    on_need: Callable[[int], None],
    on_line: Callable[[int, int, int], None],
    on_all: Callable[[int], None],
) -> Any:
    """One agent in the step of the page's slider; every text is shown as text.

    Args:
        version: another one makes the browser forget the pages that it has.
        called: the agent's name.
        pages: what was given before is kept. The same object while there are no new ones.
        begin: place of the step that is shown at first; then it is the slider's.
        count: how many steps there are.
        on_need: called with the place of a step of which the page is missing.
        on_line: called with the places of a step, a part and a line that was clicked.
        on_all: called with the place of the step of which one wants to see all.
    """
    # As text: else every drawing of the page would walk through all the lines.
    held = solara.use_memo(
        lambda: json.dumps([asdict(page) for page in pages]), [id(pages)]
    )
    return _Pages(
        version=version,
        called=called,
        begin=begin,
        count=count,
        pages=held,
        most=LINES,
        event_need=on_need,
        event_pick=lambda at: on_line(at["place"], at["part"], at["line"]),
        event_all=on_all,
    )
