"""Forks a running model, with a change in the memory of one agent."""

from dataclasses import dataclass, replace
from typing import Any

import solara
import solara.lab

from mesa_memory.viz.actions import ACTIONS
from mesa_memory.viz.data import interventions as data
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


@dataclass(frozen=True)
class ForkForm:
    """The values of the form.

    Attributes:
        event: kind of the implanted event; empty implants nothing.
        text: its words.
        step: the fork begins at its end; empty is the last one.
        played: steps to play at once.
    """

    event: str = "message"
    text: str = ""
    step: str = ""
    played: str = "5"


@solara.component
def Fork(focus: Focus, model: Any) -> Any:
    """A form, and the fork made with it."""
    form, done = solara.use_reactive(ForkForm()), solara.use_reactive(0)
    made: solara.Reactive[tuple[str, str] | None] = solara.use_reactive(None)
    keep = solara.use_context(ACTIONS).keep

    def put(**changes: Any) -> None:
        form.value = replace(form.peek(), **changes)

    def make() -> None:
        wanted = form.peek()
        step = float(wanted.step) if wanted.step else None
        done.set(0)
        implanted = Change(focus.agent, wanted.text, wanted.event)
        other = forked(model, implanted if wanted.event else None, step)
        for count in range(int(wanted.played)):
            other.step()
            done.set(count + 1)
        assert keep is not None, "the page of a running model lists its forks"
        feed = keep(other)
        feed.refresh()
        made.set((feed.key, feed.facts.place))

    task = solara.lab.use_task(make, dependencies=None, raise_error=False)
    ready = not form.value.event or form.value.text.strip()
    with Section(
        "Fork with a change",
        hint="a new run continues from here; this one stays unchanged",
    ):
        Fields(focus, form.value, put)
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
            solara.Text(f"Forking; step {done.value} of {form.value.played} is played.")
        if task.error and task.exception is not None:
            Failure(task.exception)
        if made.value is not None:
            NewRun(focus, *made.value)


@solara.component
def Fields(focus: Focus, form: ForkForm, put: Any) -> Any:
    """The change, the step of the fork, and the steps played at once."""
    steps = [number(step) for step in focus.source.of(data.forkable)]
    with solara.Div(classes=["mm-row"]):
        Choose(
            f"Implanted in agent {focus.name}",
            form.event,
            EVENTS,
            lambda event: put(event=event),
        )
        last = {"": "the last one"} | {step: step for step in steps}
        Choose("From end of step", form.step, last, lambda s: put(step=s))
        Choose("Steps at once", form.played, PLAYED_STEPS, lambda n: put(played=n))
    if form.event:
        solara.InputTextArea(
            "Words it will remember",
            form.text,
            on_value=lambda text: put(text=text),
            continuous_update=True,
            rows=2,
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
