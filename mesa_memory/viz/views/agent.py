"""One agent at a step: what it remembered, what the step changed, what it was shown."""

from collections import Counter
from typing import Any

import solara

from mesa_memory.viz.data import agent as data
from mesa_memory.viz.data import wording
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.widgets import Column, Empty, Fact, Plain, Section, Table
from mesa_memory.viz.widgets.timeline import number

#: headings of the columns of records
HEADS = {
    "step": Column("step", number=True),
    "text": Column("text", wide=True),
    "importance": Column("grade", number=True),
    "subject": Column("about"),
    "kind": Column("kind"),
}
#: headings of tables; other kinds are named as they are
TITLES = {"event": "Events", "reflection": "Reflections", "impression": "Impressions"}


@solara.component
def AgentView(source: Source, selection: Selection) -> Any:
    """Every layer as it was, the changes of the step, and the prompt."""
    agent, step = selection.agent(source), selection.step(source)
    if agent is None or step is None:
        NoMemories()
        return
    past = source.of(data.past, agent)
    with solara.Column(gap="0px"):
        Changes(source, past, agent, step)
        with solara.Div(classes=["mm-columns"]):
            with solara.Div():
                for view in data.layer_views(past, step):
                    Layer(view, agent, step).key(view.layer)
            Shown(source, agent, step)


@solara.component
def Changes(source: Source, past: data.Past, agent: Any, step: float) -> Any:
    """What the step added to the memory, and what it ended."""
    rows = data.changed(past, source.steps, step)
    with Section(
        f"Agent {source.called(agent)}, step {number(step)}",
        hint="changes in this step",
    ):
        with solara.Div(classes=["mm-row"]):
            Fact("remembered", str(len(past.at(step))))
            for change, count in Counter(row["change"] for row in rows).items():
                Fact(change, str(count))
        if not rows:
            Empty("This step changed nothing in the memory.", "mdi-equal")
            return
        names = ["change", "layer", "kind", "step", "text"]
        heads = [HEADS.get(name, Column(name)) for name in names]
        Table(
            heads,
            data.cells(rows, names),
            file=f"agent-{agent}-step-{number(step)}-changes",
            page=5,
        )


@solara.component
def Layer(view: data.LayerView, agent: Any, step: float) -> Any:
    """One layer: its texts with what changed in them, its records as tables."""
    size = view.size
    with Section(
        f"Layer {view.layer}", hint=f"{size} {'record' if size == 1 else 'records'}"
    ):
        if not size:
            Empty("This layer was empty at the end of the step.")
        for row, before in view.texts:
            Text(row, before)
        for kind, rows in view.tables.items():
            names = data.columns(rows)
            solara.v.Html(tag="h4", children=[TITLES.get(kind, kind)])
            Table(
                [HEADS.get(name, Column(name, number=True)) for name in names],
                data.cells(rows, names),
                marked=[n for n, row in enumerate(rows) if row["valid_from"] == step],
                file=f"agent-{agent}-step-{number(step)}-{view.layer}-{kind}",
                sort="step",
                down=True,
            ).key(kind)


@solara.component
def Text(row: data.Row, before: data.Row | None) -> Any:
    """A text that stands for others, such as a summary, against its last version."""
    marked = solara.use_reactive(True)
    new = row["text"] or ""
    told = f"{row['kind']}, since step {number(row['valid_from'])}"
    if row["importance"] is not None:
        told += f", grade {row['importance']:g}"
    if doubt := data.doubt_of(row):
        told += f", doubtful: {doubt}"
    solara.v.Html(tag="h4", children=[told])
    if before is None:
        Plain(new)
        return
    solara.Checkbox(
        label=f"Mark what changed since the version of step {number(before['valid_from'])}",
        value=marked,
    )
    old = before["text"] or ""
    Plain(wording.changes(old, new) if marked.value else new)


@solara.component
def Shown(source: Source, agent: Any, step: float) -> Any:
    """The texts of memory that went into prompts in the step, exactly."""
    rows = source.of(data.shown, agent, step)
    total = sum(row["tokens"] for row in rows)
    with Section("Shown to the agent", hint=f"in this step, about {total} tokens"):
        if not rows:
            Empty(
                "The agent did not read its memory in this step.",
                "mdi-eye-off-outline",
            )
        for row in rows:
            times = f", {row['times']} times" if row["times"] > 1 else ""
            told = (
                f"{row['layer']}: {row['section']}, about {row['tokens']} tokens{times}"
            )
            solara.v.Html(tag="h4", children=[told])
            with solara.Div(classes=["mm-prompt"]):
                Plain(row["text"] or "")
