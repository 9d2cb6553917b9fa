"""Questions to an agent, forks of the run, and the changes made by hand."""

from functools import partial
from typing import Any

import solara
import solara.lab

import mesa_memory.viz.widgets as ui
from mesa_memory.hosts.mesa import clock
from mesa_memory.runs.past import Row, past, text_of
from mesa_memory.viz.actions import ACTIONS
from mesa_memory.viz.data import interventions as data
from mesa_memory.viz.live.by_hand import Change, ask, forked
from mesa_memory.viz.views.focus import Focus

#: fields in which one types
TYPED: dict[str, Any] = {"continuous_update": True, "rows": 2}
UNCHANGED = "Its memory stays as it is; the request is recorded as a probe."
IN_MEMORY = "The fork is in memory only. Record the model in a file to keep it."
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
        times = f"changed by hand {ui.counted(count, 'time')}"
        ui.Answer(f"This run was {times if count else 'not changed by hand'}.")
        if model is not None:
            with solara.Div(classes=["mm-columns"]):
                Ask(focus, model).key(f"ask-{id(model)}")
                Fork(focus, model).key(f"fork-{id(model)}")
        else:
            facts = focus.source.feed.facts
            given = f"{facts.model}, {facts.store!r}, {focus.at}"
            fork = f"fork({given}, run={facts.number})"
            with ui.Section(READ_ONLY):
                ui.Plain(CODE.format(fork=fork, agent=focus.agent), sent=True)
        if count:
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
    hint = f"from its memory at step {ui.number(clock(model))}"
    with ui.Section(f"Ask agent {focus.name}", hint):
        off = {"disabled": task.pending or not question.value.strip()}
        solara.InputTextArea("Question", question, disabled=task.pending, **TYPED)
        with solara.Div(classes=["mm-row"]):
            solara.Button("Ask", task, icon_name="mdi-help", color="primary", **off)
            solara.Text(UNCHANGED)
        Progress(task)
        if answers.value:
            columns = ui.named("step agent question answer")
            ui.Table(columns, answers.value, file="answers", page=5)


def Progress(task: solara.lab.Task[..., None]) -> None:
    """Says that work goes on, or why it failed."""
    if task.pending:
        solara.ProgressLinear(True)
    if task.error and task.exception is not None:
        ui.Failure(task.exception)


def Interventions(focus: Focus) -> Any:
    """All changes by hand of the run; a click shows the evidence of the record."""
    source, selection = focus.source, focus.selection

    def go(one: Row) -> None:
        if record := one["by"] or one["record"]:
            focus.to_evidence(record, one["agent"])
        else:
            selection.choose(view="agent", agent=one["agent"], step=one["step"])

    def text(one: Row) -> str:
        row = source.of(past, one["agent"]).by_id.get(one["by"] or one["record"])
        if row and (said := text_of(row)):
            return said
        rest = {k: v for k, v in one["detail"].items() if k not in ("record", "by")}
        return ", ".join(f"{name}: {value}" for name, value in rest.items())

    columns = {"step": "step", **focus.called, "change": "kind", "record": "record"}
    columns |= {"replaced by": "by", "text": text}
    with ui.Section("Changed by hand", "in this run; click one for its evidence"):
        ui.Table(
            columns, source.of(data.interventions), file="changes-by-hand", on_pick=go
        )


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
    off = {"disabled": task.pending or bool(event.value and not text.value.strip())}
    hint = f"a new run continues from step {focus.at}, which is shown"
    with ui.Section("Fork with a change", hint):
        ui.Choose(f"Implanted in agent {focus.name}", event.value, EVENTS, event.set)
        if event.value:
            solara.InputTextArea("Words it will remember", text, **TYPED)
        solara.Button("Fork", task, icon_name="mdi-source-fork", color="primary", **off)
        Progress(task)
        if made.value is not None:
            key, place = made.value
            show = partial(focus.selection.choose, run=key)
            ui.Note(f"The fork is a run of its own, {place}." if place else IN_MEMORY)
            solara.Button("Show the fork", show, outlined=True)
