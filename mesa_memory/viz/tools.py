"""What every view has above it: the search, notes, the list of runs, the link."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import solara

from mesa_memory.errors import MesaMemoryError
from mesa_memory.runs.notes import Notes
from mesa_memory.viz.data import interventions
from mesa_memory.viz.finding import OPTION, Found
from mesa_memory.viz.noting import Noting
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.runs_table import RunsTable
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Feed
from mesa_memory.viz.widgets import SearchBox
from mesa_memory.viz.widgets.copylink import CopyLink


def step_marks(feed: Feed, source: Source) -> dict[float, str]:
    """What the slider marks: steps changed by hand, and notes; with what these say."""
    said: dict[float, list[str]] = {}
    for marks in (_changes, _notes):
        with suppress(
            MesaMemoryError
        ):  # the views and the list of notes say what is wrong
            for step, text in marks(feed, source):
                said.setdefault(step, []).append(text)
    return {step: "; ".join(texts) for step, texts in said.items()}


def _changes(feed: Feed, source: Source) -> Iterable[tuple[float, str]]:
    changes = source.of(interventions.interventions)
    return interventions.marks(changes, source.steps).items()


def _notes(feed: Feed, source: Source) -> Iterable[tuple[float, str]]:
    assert feed.run is not None
    return [(note.step, note.text[:80]) for note in feed.notebook.of(feed.run.id)]


@solara.component
def Tools(
    feeds: Sequence[Feed],
    feed: Feed,
    source: Source,
    selection: Selection,
    on_note: Any,
) -> Any:
    """A row of tools, and below it the one that is open.

    Args:
        feeds: all runs of the page.
        feed: the one that is shown.
        source: its state.
        selection: of this session.
        on_note: called when the notes have changed.
    """
    opened = solara.use_reactive("")
    text = selection.option(OPTION, "")
    notebook: Notes = feed.notebook

    def toggle(name: str) -> None:
        opened.set("" if opened.value == name else name)

    with solara.Div(classes=["mm-row", "mm-tools"]):
        SearchBox(
            "Find agents, texts, kinds, steps",
            text,
            lambda value: selection.set_option(OPTION, value.strip() or None),
        )
        _Toggle("Notes", "mdi-pencil", opened, toggle)
        if len(feeds) > 1:
            _Toggle("Runs", "mdi-format-list-bulleted", opened, toggle)
        CopyLink()
    if text.strip():
        Found(source, selection)
    if opened.value == "Notes":
        Noting(notebook, source, selection, on_note)
    elif opened.value == "Runs":
        RunsTable(feeds, feed, selection)


@solara.component
def _Toggle(name: str, icon: str, opened: solara.Reactive[str], toggle: Any) -> Any:
    solara.Button(
        name,
        icon_name=icon,
        text=True,
        small=True,
        on_click=lambda: toggle(name),
        attributes={"aria-expanded": str(opened.value == name).lower()},
    )
