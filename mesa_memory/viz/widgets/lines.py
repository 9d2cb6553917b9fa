"""Lines of text that lead somewhere."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import solara


@dataclass(frozen=True)
class Line:
    """A line of a list.

    Attributes:
        text: what somebody said or remembered.
        head: who or what, in front of it.
        note: why or since when, behind it.
        faint: it was left out of something, as ``note`` says.
    """

    text: str
    head: str = ""
    note: str = ""
    faint: bool = False


@solara.component_vue("lines.vue")
def _Lines(
    lines: list[dict[str, Any]],
    label: str,
    clickable: bool,
    goes: str,
    most: int,
    event_pick: Callable[[int], None],
) -> None: ...


@solara.component
def Lines(
    lines: Sequence[Line],
    *,
    label: str,
    on_pick: Callable[[int], None] | None = None,
    goes: str = "",
    most: int = 12,
) -> Any:
    """A list whose lines are buttons; every text is shown as text.

    Args:
        lines: in order.
        label: what the list shows, for those who cannot see it.
        on_pick: called with the place of the line that was chosen; None for lines that
            lead nowhere.
        goes: where a line leads to, shown when one points at it.
        most: lines shown at first; the others after a click.
    """
    return _Lines(
        lines=[asdict(line) for line in lines],
        label=label,
        clickable=on_pick is not None,
        goes=goes,
        most=most,
        event_pick=on_pick or _nothing,
    )


def _nothing(_: int) -> None:
    """For lines that lead nowhere."""
