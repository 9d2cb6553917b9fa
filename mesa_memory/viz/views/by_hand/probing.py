"""Asks an agent of a running model a question, without a trace in its memory."""

from typing import Any

import solara
import solara.lab

from mesa_memory.hosts.mesa.model import clock
from mesa_memory.viz.live.by_hand import ask
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Failure, Section, Table, number


@solara.component
def Ask(focus: Focus, model: Any) -> Any:
    """A question, and the answers so far of this session."""
    question = solara.use_reactive("")
    answers: solara.Reactive[list[dict[str, Any]]] = solara.use_reactive([])

    def answer() -> None:
        said = ask(model, focus.agent, question.peek())
        row = {"step": clock(model), "agent": focus.name}
        row |= {"question": question.peek(), "answer": said}
        answers.value = [row, *answers.peek()]
        question.set("")

    task = solara.lab.use_task(answer, dependencies=None, raise_error=False)
    hint = f"from its memory at step {number(clock(model))}"
    with Section(f"Ask agent {focus.name}", hint=hint):
        solara.InputTextArea(
            "Question", question, continuous_update=True, rows=2, disabled=task.pending
        )
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
            names = ("step", "agent", "question", "answer")
            columns = {name: name for name in names}
            Table(columns, answers.value, file="answers", page=5)
