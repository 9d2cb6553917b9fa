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
#: steps that a fork plays at once
PLAYED_STEPS = {"1": "1", "5": "5", "10": "10", "25": "25"}


@solara.component
def Fork(focus: Focus, model: Any) -> Any:
    """A form, and the fork made with it."""
    event, text = solara.use_reactive("message"), solara.use_reactive("")
    played = solara.use_reactive("5")
    done = solara.use_reactive(0)
    made: solara.Reactive[tuple[str, str] | None] = solara.use_reactive(None)
    keep = solara.use_context(ACTIONS).keep

    def make() -> None:
        done.set(0)
        change = Change(focus.agent, text.peek(), event.peek())
        other = forked(model, change if event.peek() else None, focus.step)
        for count in range(int(played.peek())):
            other.step()
            done.set(count + 1)
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
        Fields(focus, event, text, played)
        with solara.Div(classes=["mm-row"]):
            solara.Button(
                "Fork",
                icon_name="mdi-source-fork",
                on_click=task,
                disabled=task.pending or not ready,
                color="primary",
            )
            solara.Text("The steps of a fork cost as much as any others.")
        if task.pending:
            solara.ProgressLinear(True)
            solara.Text(f"Forking; step {done.value} of {played.value} is played.")
        if task.error and task.exception is not None:
            Failure(task.exception)
        if made.value is not None:
            NewRun(focus, *made.value)


@solara.component
def Fields(
    focus: Focus,
    event: solara.Reactive[str],
    text: solara.Reactive[str],
    played: solara.Reactive[str],
) -> Any:
    """The fields of a fork.

    Args:
        event: kind of the implanted event; empty implants nothing.
        text: its words.
        played: steps to play at once.
    """
    with solara.Div(classes=["mm-row"]):
        Choose(f"Implanted in agent {focus.name}", event.value, EVENTS, event.set)
        Choose("Steps at once", played.value, PLAYED_STEPS, played.set)
    if event.value:
        solara.InputTextArea(
            "Words it will remember", text, continuous_update=True, rows=2
        )


@solara.component
def NewRun(focus: Focus, key: str, place: str) -> Any:
    """The ways to a fork.

    Args:
        key: of the new run, in the page's list.
        place: of the new run, as commands take it; empty in memory.
    """
    choose = focus.selection.choose
    with solara.Div(classes=["mm-row"]):
        solara.Button("Show the fork", on_click=lambda: choose(run=key), outlined=True)
        solara.Button(
            "Compare with fork",
            on_click=lambda: choose(view="compare", other_run=key, other_agent=None),
            outlined=True,
        )
    if place:
        Note(f"The fork is a run of its own, {place}.")
    else:
        Note("The fork is in memory only. Record the model in a file to keep it.")
