"""Views without content: the reason, and a button that leads to some."""

from typing import Any

import solara

from mesa_memory.viz.actions import use_actions
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Empty, number


@solara.component
def NoMemories() -> Any:
    """No agent has remembered anything yet."""
    Empty(
        "No agent has remembered anything yet. Make a step; a run that is only read "
        "shows new steps by itself.",
        button="Make a step",
        on_click=use_actions().step,
    )


@solara.component
def SeeMemories(selection: Selection, text: str, icon: str) -> Any:
    """The run lacks data for a view; the button leads to the agent's memory."""
    Empty(
        text,
        icon,
        button="See the agent's memory",
        on_click=lambda: selection.choose(view="agent"),
    )


@solara.component
def OtherAgent(
    focus: Focus, text: str, icon: str, found: tuple[Any, float] | None, none: str
) -> Any:
    """The agent lacks data for a view; the button leads to an agent that has.

    Args:
        focus: the agent at the step.
        text: the reason.
        icon: of Material Design Icons.
        found: an agent and a step with data; None without one.
        none: a sentence for a run in which no agent has data.
    """
    selection = focus.selection
    if found is None:
        SeeMemories(selection, f"{text} {none}", icon)
        return
    who, when = found
    button = f"Show agent {focus.source.called(who)}"
    Empty(text, icon, button, lambda: selection.choose(agent=who, step=when))


@solara.component
def NotAtThisStep(
    selection: Selection, text: str, icon: str, to: float | None, there: str = ""
) -> Any:
    """The agent lacks data for a view at the step.

    Args:
        selection: of this session.
        text: the reason.
        icon: of Material Design Icons.
        to: a step with data; None if the step does not exist.
        there: the data at that step, such as ``"where the first is complete"``.
    """
    step = use_actions().step

    def make() -> None:
        assert step is not None, "the button is there only if there is a step to make"
        selection.choose(step=None)
        step()

    if to is not None:
        button = f"Go to step {number(to)}" + f", {there}" * bool(there)
        Empty(text, icon, button=button, on_click=lambda: selection.choose(step=to))
    elif step is not None:
        Empty(text, icon, button="Make a step", on_click=make)
    else:
        SeeMemories(selection, text, icon)
