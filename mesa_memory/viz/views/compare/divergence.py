"""Where two runs part: looked for in the background, shown side by side."""

from typing import Any

import solara

from mesa_memory.runs.compare import Parting
from mesa_memory.viz.background_query import use_answer
from mesa_memory.viz.data import compare as data
from mesa_memory.viz.data import wording
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Column, Empty, Fact, Plain, Section, Table
from mesa_memory.viz.widgets.timeline import number

#: agents times steps of runs that are compared without being asked to
COMPARED_AT_ONCE = 20_000
EVERYTHING = "steps, calls, records, recalls and the texts shown"


@solara.component
def Divergence(source: Source, other: Source, selection: Selection) -> Any:
    """The first difference of two runs; of long ones only if one asks for it."""
    asked = solara.use_reactive(False)
    size = len(source.steps) * len(source.agent_ids)
    with Section(
        "First difference of the runs", hint=f"{source.label}  and  {other.label}"
    ):
        if size <= COMPARED_AT_ONCE or asked.value:
            First(source, other, selection)
            return
        solara.Text(
            "All that was recorded is compared: records, calls, recalls, prompts. For "
            "runs of this size that takes a minute or more."
        )
        solara.Button(
            "Find it", on_click=lambda: asked.set(True), icon_name="mdi-source-branch"
        )


@solara.component
def First(source: Source, other: Source, selection: Selection) -> Any:
    """Looks for it, then shows it."""
    parting = use_answer(
        source,
        data.parting,
        other.run,
        other.stamp,
        quick=False,
        says="Comparing all that was recorded of both runs …",
    )
    if parting is None:
        return
    found = parting.first
    Made(parting)
    if found is None:
        what = "what happened to the agents" if parting.events else EVERYTHING
        Empty(f"The runs are equal: {what}.", "mdi-equal")
        return
    agent = data.whose(found)
    with solara.Div(classes=["mm-row"]):
        Fact("step", number(found.step))
        Fact("table", found.table)
        Fact("agent", "–" if agent is None else agent)
        Fact("what differs", ", ".join(found.fields) or "only one run has it")
        changes = {"step": found.step} | ({} if agent is None else {"agent": agent})
        solara.Button(
            "Go there",
            on_click=lambda: selection.choose(**changes),
            icon_name="mdi-arrow-right",
            text=True,
        )
    pairs = data.told(found)
    if not found.fields:
        heads = [Column(""), Column("left", wide=True), Column("right", wide=True)]
        missing = "– not in this run –"
        rows = [[p.title, p.left or missing, p.right or missing] for p in pairs]
        Table(heads, rows, file="first-difference", page=25)
        return
    for pair in pairs:
        Differing(pair).key(pair.title)


@solara.component
def Made(parting: Parting) -> Any:
    """In what the runs were made differently, and what is compared because of that."""
    if parting.events:
        solara.Text(
            "Their memories are of different classes, so what is compared is what "
            "happened to the agents: events, by agent, kind, step and text."
        )
    names = dict.fromkeys([*parting.parameters[0], *parting.parameters[1]])
    if names:
        heads = [Column("made with"), Column("left"), Column("right")]
        rows = [
            [n, *(str(side.get(n, "–")) for side in parting.parameters)] for n in names
        ]
        Table(heads, rows, file="parameters", page=10)


@solara.component
def Differing(pair: data.Pair) -> Any:
    """A column of the row that differs, of both runs."""
    left, right = pair.left or "", pair.right or ""
    changes = solara.use_memo(lambda: wording.changes(left, right), [left, right])
    solara.v.Html(tag="h4", children=[pair.title])
    with solara.Div(classes=["mm-columns"]):
        Plain(left)
        Plain(changes)
