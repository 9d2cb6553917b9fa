"""The tabs of a page: rows that wrap, or a menu on a narrow page."""

from collections.abc import Callable
from typing import Any

import solara

#: id of the element that shows what the chosen tab stands for
PANEL = "mm-view"


@solara.component_vue("tabs.vue")
def TabRow(
    tabs: list[dict[str, str]],
    place: int,
    label: str,
    panel: str,
    event_choose: Callable[[int], None],
) -> None:
    """Tabs; arrow keys, Home and End go through them, Enter chooses one.

    Args:
        tabs: ``key`` and ``label`` of each; ``lacks`` is the reason why one has no
            content, or empty.
        place: of the chosen one.
        label: what one chooses.
        panel: id of the element that shows it.
        event_choose: called with the place of another one.
    """


def Panel(label: str, panel: str = PANEL, shows: str = "") -> Any:
    """The content of the chosen tab; use it with ``with``.

    Args:
        label: of the chosen tab.
        panel: id, as for ``TabRow``.
        shows: what is drawn in it, for programs that read the page.
    """
    named = {"id": panel, "role": "tabpanel", "aria-label": f"View {label}"}
    if shows:
        named["data-shows"] = shows
    return solara.v.Html(tag="div", class_="mm-panel", attributes=named)
