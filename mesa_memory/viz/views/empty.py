"""Views without content: the reason, and a button that leads to some."""

from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.viz.actions import ACTIONS
from mesa_memory.viz.data import presence
from mesa_memory.viz.selection import NEWEST, Selection
from mesa_memory.viz.views.focus import Focus

NO_MEMORIES = (
    "No agent has remembered anything yet. Make a step; a run that is only read shows "
    "new steps by itself."
)


@solara.component
def Nothing(selection: Selection, text: str) -> Any:
    """A run without data: the button makes a step of a running model.

    Args:
        selection: of this session.
        text: the reason.
    """
    step = solara.use_context(ACTIONS).step

    def go() -> None:
        selection.choose(step=NEWEST)
        if step is not None:
            step()

    ui.Empty(text, button="Make a step", on_click=go if step else None)


def EmptyView(focus: Focus, view: str, text: str) -> Any:
    """An agent without data for a view at the step: the button leads to some.

    Args:
        focus: the agent at the step.
        view: key, one of ``presence.LACKS``.
        text: the reason.
    """
    source, choose = focus.source, focus.selection.choose
    finished = set(source.steps)
    own = source.of(presence.steps, view, focus.agent)
    steps = [step for step in own if step in finished]
    agent, at = source.of(presence.first, view) or (None, None)
    if steps:
        to = max((step for step in steps if step < focus.step), default=steps[0])
        button = f"Go to step {ui.number(to)}"
        ui.Empty(text, button=button, on_click=lambda: choose(step=to))
    elif agent in source.agent_ids:
        button = f"Show agent {source.called(agent)}"
        ui.Empty(text, button=button, on_click=lambda: choose(agent=agent, step=at))
    else:
        Nothing(focus.selection, f"{text} No other agent of this run has any.")
