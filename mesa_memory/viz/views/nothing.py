"""Empty views that several views share."""

from typing import Any

import solara

from mesa_memory.viz.actions import use_actions
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Empty
from mesa_memory.viz.widgets.timeline import number


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


@solara.component
def NotAtThisStep(
    selection: Selection, text: str, icon: str, to: float | None, there: str
) -> Any:
    """An agent's memory has nothing of a sort at the step.

    Args:
        selection: of this session.
        text: says so.
        icon: of Material Design Icons.
        to: the step from which on it has some; None if it never had.
        there: what is to be seen at that step, as ``"where the first is complete"``.
    """
    step = use_actions().step

    def make() -> None:
        assert step is not None, "the button is there only if there is a step to make"
        selection.choose(step=None)
        step()

    if to is not None:
        Empty(
            text,
            icon,
            button=f"Go to step {number(to)}, {there}",
            on_click=lambda: selection.choose(step=to),
        )
    elif step is not None:
        Empty(text, icon, button="Make a step", on_click=make)
    else:
        SeeMemories(selection, text, icon)
