"""Empty views that several views share."""

from typing import Any

import solara

from mesa_memory.viz.actions import use_actions
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Empty


@solara.component
def NoMemories() -> Any:
    """Nobody has remembered anything yet."""
    Empty(
        "No agent has remembered anything yet. Make a step; a run that is only read "
        "shows new steps by itself.",
        button="Make a step",
        on_click=use_actions().step,
    )


@solara.component
def SeeMemories(selection: Selection, text: str, icon: str) -> Any:
    """A run has nothing for a view; what its agents remember is the next best."""
    Empty(
        text,
        icon,
        button="See what the agents remember",
        on_click=lambda: selection.choose(view="agent"),
    )
