"""Forks a running model, with a change in the memory of one agent."""

from typing import Any

import solara
import solara.lab

from mesa_memory.viz.actions import ACTIONS
from mesa_memory.viz.live.by_hand import Change, forked
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Choose, Failure, Note, Section, number

#: kinds of implanted events; the last forks without one
EVENTS = {
    "message": "a message",
    "observation": "an observation",
    "action": "an action",
    "": "no change",
}


@solara.component
def Fork(focus: Focus, model: Any) -> Any:
    """A form, and the fork made with it."""
    event, text = solara.use_reactive("message"), solara.use_reactive("")
    made: solara.Reactive[tuple[str, str] | None] = solara.use_reactive(None)
    keep = solara.use_context(ACTIONS).keep

    def make() -> None:
        change = Change(focus.agent, text.peek(), event.peek())
        other = forked(model, change if event.peek() else None, focus.step)
        assert keep is not None, "the page of a running model lists its forks"
        feed = keep(other)
        feed.refresh()
        made.set((feed.key, feed.facts.place))

    task = solara.lab.use_task(make, dependencies=None, raise_error=False)
    ready = not event.value or text.value.strip()
    with Section(
        "Fork with a change",
        hint=f"a new run continues from step {number(focus.step)}, which is shown",
    ):
        Choose(f"Implanted in agent {focus.name}", event.value, EVENTS, event.set)
        if event.value:
            solara.InputTextArea(
                "Words it will remember", text, continuous_update=True, rows=2
            )
        solara.Button(
            "Fork",
            icon_name="mdi-source-fork",
            on_click=task,
            disabled=task.pending or not ready,
            color="primary",
        )
        if task.pending:
            solara.ProgressLinear(True)
        if task.error and task.exception is not None:
            Failure(task.exception)
        if made.value is not None:
            NewRun(focus, *made.value)


@solara.component
def NewRun(focus: Focus, key: str, place: str) -> Any:
    """The way to a fork.

    Args:
        key: of the new run, in the page's list.
        place: of the new run, as commands take it; empty in memory.
    """
    if place:
        Note(f"The fork is a run of its own, {place}.")
    else:
        Note("The fork is in memory only. Record the model in a file to keep it.")
    solara.Button(
        "Show the fork", on_click=lambda: focus.selection.choose(run=key), outlined=True
    )
