"""Ask an agent, fork the run with a change, and all that was ever changed by hand."""

from typing import Any

import solara
import solara.lab

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data import interventions as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection, nearest
from mesa_memory.viz.views.by_hand.forking import Fork
from mesa_memory.viz.views.by_hand.probing import Ask
from mesa_memory.viz.views.navigation import to_evidence
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.widgets import Column, Note, Plain, Section, Table
from mesa_memory.viz.widgets.timeline import number

HEADS = (
    Column("step", number=True),
    Column("agent"),
    Column("what"),
    Column("record"),
    Column("in its place"),
    Column("says", wide=True),
)
RECORDED = (
    "This run is only read: its model is not the one that this page plays, so nobody can "
    "be asked. Where the model's class is, these lines do the same; the new run is "
    "recorded beside this one."
)
CODE = """from mesa_memory import fork, implant, probe

def change(model):
    agent = next(a for a in model.agents if str(a.unique_id) == {agent!r})
    print(probe(agent, "What do you know?"))
    implant(agent, "message", {{"message": "…"}})

model = fork({model}, {store!r}, {step}, change, run={run})
for _ in range(10):
    model.step()
"""


@solara.component
def ByHandView(source: Source, selection: Selection) -> Any:
    """Questions, forks, and the changes that were recorded."""
    agent, step = selection.agent(source), selection.step(source)
    if agent is None or step is None:
        NoMemories()
        return
    with solara.Column(gap="0px"):
        model = source.model
        if model is not None:
            with solara.Div(classes=["mm-columns"]):
                Ask(source, model, agent).key(f"ask-{id(model)}")
                Fork(source, selection, model, agent).key(f"fork-{id(model)}")
        else:
            Elsewhere(source, selection, agent, step)
        Changes(source, selection)


@solara.component
def Elsewhere(source: Source, selection: Selection, agent: Any, step: float) -> Any:
    """What to do where only the record of a run is."""
    possible = source.of(data.forkable)
    at = nearest(possible, step)
    run = source.run
    with Section("Ask an agent, or fork the run"):
        Note(RECORDED)
        if at is None:
            Note("The run has no checkpoint, so it cannot be forked.", "warning")
            return
        if at != step:
            with solara.Div(classes=["mm-row"]):
                told = ", ".join(map(number, possible))
                solara.Text(f"It can be forked from the end of the steps {told}.")
                solara.Button(
                    f"Go to step {number(at)}",
                    on_click=lambda: selection.choose(step=at),
                    text=True,
                )
        with solara.Div(classes=["mm-prompt"]):
            Plain(
                CODE.format(
                    agent=str(agent),
                    model=run.model.rpartition(".")[2],
                    store=run.location,
                    step=number(at),
                    run=run.id,
                )
            )


@solara.component
def Changes(source: Source, selection: Selection) -> Any:
    """All changes by hand of the run; a click shows the evidence of the record."""
    found = source.of(data.interventions)

    def go(place: int) -> None:
        one = found[place]
        record = one.by or one.record
        if record:
            to_evidence(selection, record, one.agent)
        else:
            selection.choose(view="agent", agent=one.agent, step=one.step)

    with Section("Changed by hand", hint="in this run; click one for its evidence"):
        Table(
            HEADS,
            [_cells(source, one) for one in found],
            file="changes-by-hand",
            on_pick=go,
            empty="Nothing in this run was changed by hand. What a fork changes is here "
            "after its first step.",
        )


def _cells(source: Source, one: data.Intervention) -> list[Any]:
    record = one.by or one.record
    row = source.of(memories.past, one.agent).by_id.get(record) if record else None
    said = memories.text_of(row) if row else ""
    rest = {k: v for k, v in one.detail.items() if k not in ("record", "by")}
    told = said or ", ".join(f"{name}: {value}" for name, value in rest.items())
    return [one.step, source.called(one.agent), one.kind, one.record, one.by, told]
