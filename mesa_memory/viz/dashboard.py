"""The dashboard itself: step, agent, tabs, and the view that is chosen."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import solara

from mesa_memory.errors import StoreError
from mesa_memory.viz.address import Address
from mesa_memory.viz.feed import Feed
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.source import Source
from mesa_memory.viz.views import View
from mesa_memory.viz.widgets import AgentPicker, Choose, Empty, Failure, Note, Timeline

STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
#: seconds between two looks for new steps
EVERY = 1.0


@solara.component
def Dashboard(
    feeds: Sequence[Feed], selection: Selection, views: Sequence[View]
) -> Any:
    """All views of some runs.

    Args:
        feeds: at least one.
        selection: of this session.
        views: at least one; the first is shown at first.
    """
    feed = feeds[min(selection.choice.run, len(feeds) - 1)]
    source = use_newest(feed)
    with solara.Div(classes=["mm-page"]):
        solara.Style(STYLE)
        Address(selection)
        for note in feed.notes:
            Note(note, "warning")
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
        Tabs(source, selection, views)


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


def use_newest(feed: Feed) -> Source:
    """The newest state of a run; renders again whenever there is another one."""
    seen = solara.use_reactive(feed.source)
    # Someone else may have looked meanwhile, such as the page after a step.
    _ = seen.value

    def watch(cancelled: threading.Event) -> None:
        while feed.live and not cancelled.wait(EVERY):
            with suppress(StoreError):  # the next look, or the next click, will tell
                seen.value = feed.refresh()

    solara.use_thread(watch, dependencies=[id(feed)], intrusive_cancel=False)
    return feed.source
