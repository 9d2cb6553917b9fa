"""What a view says while it has nothing to show, with a button for what to do next."""

from collections.abc import Callable
from typing import Any

import solara

from mesa_memory.viz.widgets.saying import Empty


@solara.component
def Nothing(
    text: str,
    icon: str = "mdi-tray",
    button: str = "",
    on_click: Callable[[], Any] | None = None,
) -> Any:
    """Says that there is nothing, why, and offers what to do.

    Args:
        button: its text; empty if there is nothing to be done here.
        on_click: does it.
    """
    Empty(text, icon)
    if button and on_click is not None:
        with solara.Div(classes=["mm-do"]):
            solara.Button(button, icon_name="mdi-arrow-right", on_click=on_click)
