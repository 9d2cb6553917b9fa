"""Forks a running model, with something that an agent is made to remember."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import solara
import solara.lab

from mesa_memory.core.content import brief
from mesa_memory.viz.actions import use_actions
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import interventions as data
from mesa_memory.viz.live.by_hand import EDIT, IMPLANT, Change, forked, words_in
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.by_hand.fork_outcome import Came, Outcome, outcome
from mesa_memory.viz.widgets import Choose, Failure, Section
from mesa_memory.viz.widgets.timeline import number

NOTHING = "nothing"
KINDS = {
    IMPLANT: "it remembers something that never happened",
    EDIT: "a memory says something else",
    NOTHING: "nothing: it goes on as this run would",
}
EVENTS = {
    "message": "a message",
    "observation": "an observation",
    "action": "an action",
}
#: steps that a fork plays at once
PLAYED = {"1": "1", "5": "5", "10": "10", "25": "25"}
#: characters of a record in the list
LISTED_CHARS = 120


@dataclass(frozen=True)
class Form:
    """What is filled in.

    Attributes:
        step: from whose end; empty is the last.
        played: steps to play at once.
    """

    kind: str = IMPLANT
    event: str = "message"
    record: str = ""
    text: str = ""
    step: str = ""
    played: str = "5"

    def change(self, agent: Any) -> Change | None:
        """What is to be changed."""
        if self.kind == NOTHING:
            return None
        return Change(agent, self.kind, self.text, self.event, self.record)


@solara.component
def Fork(source: Source, selection: Selection, model: Any, agent: Any) -> Any:
    """A form, and what came of the fork that it asks for."""
    form = solara.use_reactive(Form())
    done = solara.use_reactive(0)
    came: solara.Reactive[Outcome | None] = solara.use_reactive(None)
    keep = use_actions().keep

    def put(**changes: Any) -> None:
        form.value = replace(form.peek(), **changes)

    def make() -> None:
        wanted = form.peek()
        step = float(wanted.step) if wanted.step else None
        done.set(0)
        made = forked(model, wanted.change(agent), step)
        for count in range(int(wanted.played)):
            made.step()
            done.set(count + 1)
        came.set(outcome(model, made, agent, keep))

    task = solara.lab.use_task(make, dependencies=None, raise_error=False)
    steps = {number(step): number(step) for step in source.of(data.forkable)}
    ready = form.value.kind == NOTHING or form.value.text.strip()
    with Section(
        "What if …", hint="a run of its own goes on from here; this one stays as it is"
    ):
        Fields(source, form.value, put, steps, agent)
        with solara.Div(classes=["mm-row"]):
            solara.Button(
                "Fork",
                icon_name="mdi-source-fork",
                on_click=task,
                disabled=task.pending or not ready,
                color="primary",
            )
            solara.Text("Steps that it plays are paid for like any others.")
        if task.pending:
            solara.ProgressLinear(True)
            solara.Text(
                f"Forking; {done.value} of {form.value.played} steps are played."
            )
        if task.error and task.exception is not None:
            Failure(task.exception)
        if came.value is not None:
            Came(source, selection, came.value)


@solara.component
def Fields(
    source: Source, form: Form, put: Any, steps: Mapping[str, str], agent: Any
) -> Any:
    """What is changed, from when on, and how far it plays at once."""
    with solara.Div(classes=["mm-row"]):
        Choose(
            f"What is different for agent {source.called(agent)}",
            form.kind,
            KINDS,
            lambda kind: put(kind=kind),
        )
        if form.kind == IMPLANT:
            Choose("As", form.event, EVENTS, lambda event: put(event=event))
        last = {"": "the last one"}
        Choose(
            "From the end of step", form.step, last | dict(steps), lambda s: put(step=s)
        )
        Choose("Play at once, steps", form.played, PLAYED, lambda n: put(played=n))
    if form.kind == EDIT:
        Held(source, form, put, agent)
    if form.kind != NOTHING:
        solara.v.Textarea(
            label="What it remembers from then on",
            v_model=form.text,
            on_v_model=lambda text: put(text=text or ""),
            rows=2,
            auto_grow=True,
            outlined=True,
            dense=True,
            hide_details=True,
            class_="mb-3",
        )


@solara.component
def Held(source: Source, form: Form, put: Any, agent: Any) -> Any:
    """The records that the agent holds, one of which is to be edited."""
    past = source.of(memories.past, agent)
    rows = past.at(source.steps[-1])

    def choose(record: str | None) -> None:
        row = past.by_id.get(record or "")
        put(record=record or "", text=_words(row) if row else "")

    return solara.v.Autocomplete(
        label="Memory",
        items=[
            {
                "value": row["id"],
                "text": f"{row['id']}: {brief(memories.text_of(row), LISTED_CHARS)}",
            }
            for row in reversed(rows)
        ],
        v_model=form.record or None,
        on_v_model=choose,
        dense=True,
        hide_details=True,
        outlined=True,
        class_="mb-3",
        no_data_text="The agent remembers nothing",
    )


def _words(row: memories.Row) -> str:
    """The text of a record's content that can be edited."""
    content = row["content"] if isinstance(row["content"], dict) else {}
    return content.get(words_in(content), "")
