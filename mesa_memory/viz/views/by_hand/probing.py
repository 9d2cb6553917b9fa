"""Asks an agent of a running model something, without any trace in its memory."""

from typing import Any

import solara
import solara.lab

from mesa_memory.hosts.mesa.model import clock
from mesa_memory.viz.live.by_hand import ask
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.widgets import Failure, Section, Table
from mesa_memory.viz.widgets.passages import Passage, Passages
from mesa_memory.viz.widgets.table import Column
from mesa_memory.viz.widgets.timeline import number

HEADS = (
    Column("step", number=True),
    Column("agent"),
    Column("question", wide=True),
    Column("answer", wide=True),
)


@solara.component
def Ask(source: Source, model: Any, agent: Any) -> Any:
    """A question, and the answers so far of this session."""
    question = solara.use_reactive("")
    answers: solara.Reactive[list[list[Any]]] = solara.use_reactive([])
    called = source.called(agent)

    def answer() -> None:
        asked = question.peek()
        said = ask(model, agent, asked)
        answers.value = [*answers.peek(), [clock(model), called, asked, said]]
        question.set("")

    task = solara.lab.use_task(answer, dependencies=None, raise_error=False)
    hint = f"from what it remembers now, at step {number(clock(model))}"
    with Section(f"Ask agent {called}", hint=hint):
        field = solara.v.Textarea(
            label="Question",
            v_model=question.value,
            on_v_model=lambda text: question.set(text or ""),
            rows=2,
            auto_grow=True,
            outlined=True,
            dense=True,
            hide_details=True,
            disabled=task.pending,
            class_="mb-3",
        )
        solara.v.use_event(field, "keydown.ctrl.enter", lambda *_: task())
        with solara.Div(classes=["mm-row"]):
            solara.Button(
                "Ask",
                icon_name="mdi-help",
                on_click=task,
                disabled=task.pending or not question.value.strip(),
                color="primary",
            )
            solara.Text(
                "Its memory stays as it is; the request is recorded as a probe."
            )
        if task.pending:
            solara.ProgressLinear(True)
        if task.error and task.exception is not None:
            Failure(task.exception)
        if answers.value:
            Told(answers.value)


@solara.component
def Told(answers: list[list[Any]]) -> Any:
    """Questions and answers, the newest first."""
    texts = [
        Passage(f"Agent {called}, step {number(step)}: {asked}", said, (), "told")
        for step, called, asked, said in reversed(answers)
    ]
    Passages(texts, label=f"{len(texts)} answers, the newest first")
    Table(HEADS, answers, file="answers", page=5)
