"""The tabs of a page: rows that wrap, or a menu on a narrow page."""

from collections.abc import Callable, Sequence
from typing import Any

import solara

#: id of the element that shows what the chosen tab stands for
PANEL = "mm-view"


@solara.component_vue("tabs.vue")
def _Tabs(
    tabs: list[dict[str, str]],
    place: int,
    label: str,
    panel: str,
    event_choose: Callable[[int], None],
) -> None: ...


@solara.component
def TabRow(
    tabs: Sequence[tuple[str, str, str]],
    place: int,
    on_place: Callable[[int], None],
    label: str = "View",
    panel: str = PANEL,
) -> Any:
    """Tabs; arrow keys, Home and End go through them, Enter chooses one.

    Args:
        tabs: key, label and icon of each.
        place: of the chosen one.
        on_place: called with the place of another one.
        label: what one chooses.
        panel: id of the element that shows it.
    """
    return _Tabs(
        tabs=[{"key": key, "label": name, "icon": icon} for key, name, icon in tabs],
        place=place,
        label=label,
        panel=panel,
        event_choose=on_place,
    )


@solara.component
def Panel(
    label: str, children: Sequence[Any] = (), panel: str = PANEL, shows: str = ""
) -> Any:
    """The content of the chosen tab; use it with ``with``.

    Args:
        label: of the chosen tab.
        panel: id, as for ``TabRow``.
        shows: what is drawn in it, for programs that read the page.
    """
    named = {"id": panel, "role": "tabpanel", "aria-label": f"View {label}"}
    if shows:
        named["data-shows"] = shows
    return solara.v.Html(
        tag="div", class_="mm-panel", attributes=named, children=list(children)
    )
