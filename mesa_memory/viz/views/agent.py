"""One agent at a step: its memory, the changes, its decisions, and the text shown."""

from collections import Counter
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.viz.data import agent as data
from mesa_memory.viz.data import text_diff
from mesa_memory.viz.views.decisions import Decisions
from mesa_memory.viz.views.focus import Focus

NOT_READ = "The agent did not read its memory in this step."
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
                    Layer(focus, view)
            ShownTexts(focus)


@solara.component
def Changes(focus: Focus) -> Any:
    """The records that the step added to the memory or ended."""
    rows = data.changed(focus.past, focus.source.steps, focus.step)
    counts = Counter(row["change"] for row in rows)
    done = ", ".join(f"{count} {change}" for change, count in counts.items())
    held = len(focus.past.at(focus.step))
    ui.Answer(
        f"At the end of step {focus.at}, {focus.title} remembered "
        f"{ui.counted(held, 'record')}; in this step, {done or 'nothing changed'}."
    )
    if not rows:
        return
    with ui.Section(f"{focus.title}, step {focus.at}", "changes in this step"):
        names = ["change", "layer", "kind", "step", "text"]
        Records(rows, names, focus.file("changes"), page=5)


def Records(rows: list[data.Row], names: list[str], file: str, **more: Any) -> Any:
    """A table of records.

    Args:
        rows: with the columns of ``records``.
        names: of the columns, see ``data.columns``.
        file, more: for ``Table``.
    """
    columns = {
        ui.HEADINGS.get(name, name): (lambda row, name=name: data.cell(row, name))
        for name in names
    }
    return ui.Table(columns, rows, file=file, **more)


def Layer(focus: Focus, view: data.LayerView) -> Any:
    """One layer: its texts with their changes, its records as tables."""
    size = ui.counted(view.size, "record")
    with ui.Section(f"Layer {view.layer}", size) as section:
        if not view.size:
            ui.Empty("This layer was empty at the end of the step.")
        if view.texts:
            ui.Texts([_layer_text(row, before) for row, before in view.texts])
        for kind, rows in view.tables.items():
            Records(
                rows,
                data.columns(rows),
                focus.file(f"{view.layer}-{kind}"),
                title=TITLES.get(kind, kind),
                marked=lambda row: row["valid_from"] == focus.step,
                sort="step",
                down=True,
            ).key(f"{view.layer} {kind}")
    return section.key(view.layer)


def _layer_text(row: data.Row, before: data.Row | None) -> ui.TextBlock:
    """A text that stands for others, such as a summary, against its last version."""
    head = f"{row['kind']}, since step {ui.number(row['valid_from'])}"
    if row["importance"] is not None:
        head += f", grade {row['importance']:g}"
    if doubt := data.doubt_of(row):
        head += f", doubtful: {doubt}"
    return versioned(head, row, before)


def versioned(head: str, row: data.Row, before: data.Row | None = None) -> ui.TextBlock:
    """A text; changes since the version before are marked."""
    new = row["text"] or ""
    if before is None:
        return ui.TextBlock(head, new)
    since = f"changes since step {ui.number(before['valid_from'])} are marked"
    head = f"{head}; {since}" if head else since.capitalize()
    return ui.TextBlock(head, text_diff.changes(before["text"] or "", new))


def ShownTexts(focus: Focus) -> Any:
    """The texts of memory that went into prompts in the step, exactly."""
    rows = focus.of(data.shown)
    total = sum(row["tokens"] for row in rows)
    with ui.Section("Shown to the agent", f"in this step, about {total} tokens"):
        if rows:
            ui.Texts([_shown(row) for row in rows])
        else:
            ui.Empty(NOT_READ, "mdi-eye-off-outline")


def _shown(row: data.Row) -> ui.TextBlock:
    times = f", {row['times']} times" if row["times"] > 1 else ""
    head = f"{row['layer']}: {row['section']}, about {row['tokens']} tokens{times}"
    return ui.TextBlock(head, row["text"], sent=True)
