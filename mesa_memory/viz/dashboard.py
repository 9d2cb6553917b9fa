"""The dashboard itself: step, agent, tabs, and the view that is chosen."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import solara

from mesa_memory.viz.address import Address
from mesa_memory.viz.hooks import Told, use_chosen, use_newest
from mesa_memory.viz.run_feed import Feed
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views import View
from mesa_memory.viz.widgets import AgentPicker, Choose, Empty, Failure, Note, Timeline

STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")


@solara.component
def Dashboard(
    feeds: Sequence[Feed],
    selection: Selection,
    views: Sequence[View],
    told: Told | None = None,
) -> Any:
    """All views of some runs.

    Args:
        feeds: at least one.
        selection: of this session.
        views: at least one; the first is shown at first.
        told: of each new step of a model, see ``use_newest``.
    """
    feed = feeds[min(selection.choice.run, len(feeds) - 1)]
    seen = use_newest(feed, told)
    source = seen.source
    shown = use_chosen(source, selection.choice)
    with solara.Div(classes=["mm-page"]):
        solara.Style(STYLE)
        Address(selection)
        for note in feed.notes:
            Note(note, "warning")
        if seen.fault is not None:
            Failure(seen.fault)
        if feed.run is None:
            return
        Controls(feeds, source, selection)
        if not source.steps:
            Empty(
                "No step is finished yet. Press Step or Play; what is recorded by "
                "another program appears here by itself.",
                "mdi-timer-sand",
            )
            return
        Tabs(shown, selection, views)


@solara.component
def Controls(feeds: Sequence[Feed], source: Source, selection: Selection) -> Any:
    """Run, agent and step, for all views."""
    with solara.v.Sheet(class_="mm-bar"):
        if len(feeds) > 1:
            names = {str(n): feed.label for n, feed in enumerate(feeds)}
            place = str(min(selection.choice.run, len(feeds) - 1))
            Choose("Run", place, names, lambda key: selection.choose(run=int(key)))
        AgentPicker(source, selection)
        Timeline(source, selection)


@solara.component
def Tabs(source: Source, selection: Selection, views: Sequence[View]) -> Any:
    """The tabs, and below them the view that is chosen."""
    keys = [view.key for view in views]
    place = keys.index(selection.choice.view) if selection.choice.view in keys else 0

    def choose(number: int | None) -> None:
        if number is not None and number != place:
            selection.choose(view=keys[number])

    with solara.Div(classes=["mm-tabs"]):
        if len(views) > 1:
            with solara.v.Tabs(v_model=place, on_v_model=choose, show_arrows=True):
                for view in views:
                    with solara.v.Tab():
                        solara.v.Icon(left=True, children=[view.icon])
                        solara.Text(view.label)
    Guarded(views[place], source, selection).key(views[place].key)


@solara.component
def Guarded(view: View, source: Source, selection: Selection) -> Any:
    """A view; if it fails, what went wrong, without taking the page with it."""
    error, clear = solara.use_exception()
    # With another choice, or new steps, it may work again.
    solara.use_effect(clear, [selection.choice, source.stamp])
    if error is not None:
        Failure(error)
    else:
        view.component(source, selection)
