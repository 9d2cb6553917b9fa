"""Questions to an agent, forks of the run, and the changes made by hand."""

from typing import Any

import solara
import solara.lab

from mesa_memory.hosts.mesa.model import clock
from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import interventions as data
from mesa_memory.viz.live.by_hand import ask
from mesa_memory.viz.views.by_hand.forking import Fork
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.widgets import Answer, Failure, Plain, Section, Table, number

READ_ONLY = "This is a recording. To ask or fork, run this code where your model is:"
CODE = """from mesa_memory import fork
from mesa_memory.interventions import probe

model = {fork}
probe(next(a for a in model.agents if a.unique_id == {agent!r}), "What do you know?")"""


@solara.component
def ByHandView(focus: Focus) -> Any:
    """Questions, forks, and the changes that were recorded."""
    model = focus.source.feed.model
    count = len(focus.source.of(data.interventions))
    with solara.Column(gap="0px"):
        Answer(f"This run was changed by hand {count} time{'s' * (count != 1)}.")
        if model is not None:
            with solara.Div(classes=["mm-columns"]):
                Ask(focus, model).key(f"ask-{id(model)}")
                Fork(focus, model).key(f"fork-{id(model)}")
        else:
            facts = focus.source.feed.facts
            given = f"{facts.model}, {facts.store!r}, {number(focus.step)}"
            with Section(READ_ONLY), solara.Div(classes=["mm-prompt"]):
                fork = f"fork({given}, run={facts.number})"
                Plain(CODE.format(fork=fork, agent=focus.agent))
        Interventions(focus)


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


@solara.component
def Interventions(focus: Focus) -> Any:
    """All changes by hand of the run; a click shows the evidence of the record."""
    source, selection = focus.source, focus.selection

    def go(one: data.Intervention) -> None:
        if record := one.by or one.record:
            to_evidence(selection, record, one.agent)
        else:
            selection.choose(view="agent", agent=one.agent, step=one.step)

    def text(one: data.Intervention) -> str:
        row = source.of(memories.past, one.agent).by_id.get(one.by or one.record)
        if row and (said := memories.text_of(row)):
            return said
        rest = {k: v for k, v in one.detail.items() if k not in ("record", "by")}
        return ", ".join(f"{name}: {value}" for name, value in rest.items())

    with Section("Changed by hand", hint="in this run; click one for its evidence"):
        Table(
            {
                "step": lambda one: one.step,
                "agent": lambda one: source.called(one.agent),
                "change": lambda one: one.kind,
                "record": lambda one: one.record,
                "replaced by": lambda one: one.by,
                "text": text,
            },
            source.of(data.interventions),
            file="changes-by-hand",
            on_pick=go,
            empty="Changes by hand are listed here. This run is without any.",
        )
