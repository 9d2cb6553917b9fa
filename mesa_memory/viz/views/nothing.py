"""Views without content: the reason, and a button that leads to some."""

from typing import Any

import solara

from mesa_memory.viz.actions import ACTIONS
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
        on_click=solara.use_context(ACTIONS).step,
    )


@solara.component
def Nothing(
    selection: Selection,
    text: str,
    icon: str,
    to: dict[str, Any] | None = None,
    button: str = "",
) -> Any:
    """A view without data: a button leads to data, makes a step, or shows the agent.

    Args:
        selection: of this session.
        text: the reason.
        icon: of Material Design Icons.
        to: the choices that show data, such as a step; None for a run without data.
        button: the way there.
    """
    step = solara.use_context(ACTIONS).step

    def go() -> None:
        if to is None and step is not None:
            selection.choose(step=None)
            step()
        else:
            selection.choose(**(to or {"view": "agent"}))

    usual = "See the agent's memory" if step is None else "Make a step"
    Empty(text, icon, usual if to is None else button, go)


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
    if found is None:
        Nothing(focus.selection, f"{text} {none}", icon)
    else:
        to = {"agent": found[0], "step": found[1]}
        button = f"Show agent {focus.source.called(found[0])}"
        Nothing(focus.selection, text, icon, to, button)


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
    if to is None:
        return Nothing(selection, text, icon)
    button = f"Go to step {number(to)}" + f", {there}" * bool(there)
    return Nothing(selection, text, icon, {"step": to}, button)
