"""Questions to an agent, forks of the run, and the changes made by hand."""

from typing import Any

import solara

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import interventions as data
from mesa_memory.viz.selection import nearest
from mesa_memory.viz.views.agent import Words
from mesa_memory.viz.views.by_hand.forking import Fork
from mesa_memory.viz.views.by_hand.probing import Ask
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.widgets import Note, Section, Table, number

READ_ONLY = (
    "This run is only read: its model is not the one that this page plays, so its agents "
    "cannot be asked. Where the model's class is, these lines do the same; the new run "
    "is recorded beside this one."
)
CODE = """from mesa_memory import fork
from mesa_memory.interventions import implant, probe

def change(model):
    agent = next(a for a in model.agents if str(a.unique_id) == {agent!r})
    print(probe(agent, "What do you know?"))
    implant(agent, "message", {{"message": "…"}})

model = fork({model}, {store!r}, {step}, change, run={run})
for _ in range(10):
    model.step()
"""


@solara.component
def ByHandView(focus: Focus) -> Any:
    """Questions, forks, and the changes that were recorded."""
    model = focus.source.model
    with solara.Column(gap="0px"):
        if model is not None:
            with solara.Div(classes=["mm-columns"]):
                Ask(focus, model).key(f"ask-{id(model)}")
                Fork(focus, model).key(f"fork-{id(model)}")
        else:
            RecordedRun(focus)
        Interventions(focus)


@solara.component
def RecordedRun(focus: Focus) -> Any:
    """The code that asks and forks a run of which there is only the record."""
    possible = focus.source.of(data.forkable)
    at = nearest(possible, focus.step)
    run = focus.source.run
    with Section("Ask or fork"):
        Note(READ_ONLY)
        if at is None:
            Note("The run has no checkpoint, so it cannot be forked.", "warning")
            return
        steps = ", ".join(map(number, possible))
        code = CODE.format(
            agent=str(focus.agent),
            model=run.model.rpartition(".")[2],
            store=run.location,
            step=number(at),
            run=run.id,
        )
        Words(f"It can be forked from the end of the steps {steps}.", code)


@solara.component
def Interventions(focus: Focus) -> Any:
    """All changes by hand of the run; a click shows the evidence of the record."""
    source, selection = focus.source, focus.selection

    def go(one: data.Intervention) -> None:
        record = one.by or one.record
        if record:
            to_evidence(selection, record, one.agent)
        else:
            selection.choose(view="agent", agent=one.agent, step=one.step)

    def text(one: data.Intervention) -> str:
        record = one.by or one.record
        past = source.of(memories.past, one.agent)
        row = past.by_id.get(record) if record else None
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
            empty="This run has no changes by hand. Those of a fork are here after its "
            "first step.",
        )
