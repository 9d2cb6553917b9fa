"""One agent at a step: its memory, the changes, its decisions, and the text shown."""

from collections import Counter
from typing import Any

import solara

from mesa_memory.viz.data import agent as data
from mesa_memory.viz.data import wording
from mesa_memory.viz.views.decisions import Decisions
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets import Answer, Empty, Plain, Section, Table, number

#: headings of columns; other columns have the name of their key
HEADS = {"importance": "grade", "subject": "about"}
#: headings of tables; the table of another kind has the kind's name
TITLES = {"event": "Events", "reflection": "Reflections", "impression": "Impressions"}


@solara.component
def AgentView(focus: Focus) -> Any:
    """Every layer as it was, the changes and decisions of the step, and the prompt."""
    with solara.Column(gap="0px"):
        Changes(focus)
        Decisions(focus)
        with solara.Div(classes=["mm-columns"]):
            with solara.Div():
                for view in data.layer_views(focus.past, focus.step):
                    Layer(focus, view).key(view.layer)
            ShownTexts(focus)


@solara.component
def Changes(focus: Focus) -> Any:
    """The records that the step added to the memory or ended."""
    rows = data.changed(focus.past, focus.source.steps, focus.step)
    counts = Counter(row["change"] for row in rows)
    done = ", ".join(f"{count} {change}" for change, count in counts.items())
    held = len(focus.past.at(focus.step))
    Answer(
        f"At the end of step {number(focus.step)}, {focus.title} remembered {held} "
        f"record{'s' * (held != 1)}; in this step, {done or 'nothing changed'}."
    )
    if not rows:
        return
    with Section(
        f"{focus.title}, step {number(focus.step)}", hint="changes in this step"
    ):
        names = ["change", "layer", "kind", "step", "text"]
        Records(rows, names, focus.file("changes"), page=5)


@solara.component
def Records(rows: list[data.Row], names: list[str], file: str, **more: Any) -> Any:
    """A table of records.

    Args:
        rows: with the columns of ``records``.
        names: of the columns, see ``data.columns``.
        file, more: for ``Table``.
    """
    columns = {
        HEADS.get(name, name): (lambda row, name=name: data.cell(row, name))
        for name in names
    }
    Table(columns, rows, file=file, **more)


@solara.component
def Layer(focus: Focus, view: data.LayerView) -> Any:
    """One layer: its texts with their changes, its records as tables."""
    size = f"{view.size} record{'s' * (view.size != 1)}"
    with Section(f"Layer {view.layer}", hint=size):
        if not view.size:
            Empty("This layer was empty at the end of the step.")
        for row, before in view.texts:
            LayerText(row, before)
        for kind, rows in view.tables.items():
            solara.v.Html(tag="h4", children=[TITLES.get(kind, kind)])
            file = focus.file(f"{view.layer}-{kind}")
            names = data.columns(rows)
            Records(
                rows,
                names,
                file,
                marked=lambda row: row["valid_from"] == focus.step,
                sort="step",
                down=True,
            ).key(kind)


@solara.component
def LayerText(row: data.Row, before: data.Row | None) -> Any:
    """A text that stands for others, such as a summary, against its last version."""
    head = f"{row['kind']}, since step {number(row['valid_from'])}"
    if row["importance"] is not None:
        head += f", grade {row['importance']:g}"
    if doubt := data.doubt_of(row):
        head += f", doubtful: {doubt}"
    solara.v.Html(tag="h4", children=[head])
    Versioned(row, before)


@solara.component
def Versioned(row: data.Row, before: data.Row | None) -> Any:
    """A text; changes since the version before are marked."""
    new = row["text"] or ""
    if before is None:
        Plain(new)
    else:
        solara.Text(f"Changes since step {number(before['valid_from'])} are marked.")
        Plain(wording.changes(before["text"] or "", new))


@solara.component
def ShownTexts(focus: Focus) -> Any:
    """The texts of memory that went into prompts in the step, exactly."""
    rows = focus.of(data.shown)
    total = sum(row["tokens"] for row in rows)
    with Section("Shown to the agent", hint=f"in this step, about {total} tokens"):
        if not rows:
            Empty(
                "The agent did not read its memory in this step.", "mdi-eye-off-outline"
            )
        for row in rows:
            times = f", {row['times']} times" if row["times"] > 1 else ""
            size = f"about {row['tokens']} tokens{times}"
            Words(f"{row['layer']}: {row['section']}, {size}", row["text"] or "")


@solara.component
def Words(head: str, text: str) -> Any:
    """A text as a language model reads it, with a heading."""
    solara.v.Html(tag="h4", children=[head])
    with solara.Div(classes=["mm-prompt"]):
        Plain(text)
