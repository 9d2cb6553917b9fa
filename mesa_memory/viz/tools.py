"""The tools above all views: the search and the list of runs."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import solara

from mesa_memory.errors import MesaMemoryError
from mesa_memory.viz.data import interventions
from mesa_memory.viz.finding import OPTION, Found
from mesa_memory.viz.runs_table import RunsTable
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.run_feed import Feed, Source
from mesa_memory.viz.widgets import SearchBox


def step_marks(source: Source) -> dict[float, str]:
    """Steps after which memories were changed by hand, each with a description."""
    with suppress(MesaMemoryError):  # the view that lists the changes shows the error
        changes = source.of(interventions.interventions)
        return interventions.marks(changes, source.steps)
    return {}


@solara.component
def Tools(
    feeds: Sequence[Feed], feed: Feed, source: Source, selection: Selection
) -> Any:
    """A row of tools, and below it the results of those in use.

    Args:
        feeds: all runs of the page.
        feed: the one that is shown.
        source: its state.
        selection: of this session.
    """
    opened = solara.use_reactive(False)
    text = selection.option(OPTION, "")
    with solara.Div(classes=["mm-row", "mm-tools"]):
        SearchBox(
            "Agent, text, kind or step",
            text,
            lambda value: selection.set_option(OPTION, value.strip() or None),
        )
        if len(feeds) > 1:
            solara.Button(
                "Runs",
                icon_name="mdi-format-list-bulleted",
                text=True,
                small=True,
                on_click=lambda: opened.set(not opened.value),
                attributes={"aria-expanded": str(opened.value).lower()},
            )
    if text.strip():
        Found(source, selection)
    if opened.value and len(feeds) > 1:
        RunsTable(feeds, feed, selection)
