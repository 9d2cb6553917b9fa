"""What every view has above it: the search, the list of runs, the link."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import solara

from mesa_memory.errors import MesaMemoryError
from mesa_memory.viz.data import interventions
from mesa_memory.viz.finding import OPTION, Found
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.runs_table import RunsTable
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Feed
from mesa_memory.viz.widgets import SearchBox
from mesa_memory.viz.widgets.copylink import CopyLink


def step_marks(source: Source) -> dict[float, str]:
    """Steps after which memories were changed by hand, each with a description."""
    with suppress(MesaMemoryError):  # the view that lists the changes shows the error
        changes = source.of(interventions.interventions)
        return interventions.marks(changes, source.steps)
    return {}


@solara.component
def Tools(
    feeds: Sequence[Feed],
    feed: Feed,
    source: Source,
    selection: Selection,
) -> Any:
    """A row of tools, and below it the one that is open.

    Args:
        feeds: all runs of the page.
        feed: the one that is shown.
        source: its state.
        selection: of this session.
    """
    opened = solara.use_reactive("")
    text = selection.option(OPTION, "")

    def toggle(name: str) -> None:
        opened.set("" if opened.value == name else name)

    with solara.Div(classes=["mm-row", "mm-tools"]):
        SearchBox(
            "Find agents, texts, kinds, steps",
            text,
            lambda value: selection.set_option(OPTION, value.strip() or None),
        )
        if len(feeds) > 1:
            _Toggle("Runs", "mdi-format-list-bulleted", opened, toggle)
        CopyLink()
    if text.strip():
        Found(source, selection)
    if opened.value == "Runs":
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
