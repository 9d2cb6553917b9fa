"""The dashboard itself: step, agent, tabs, and the view that is chosen."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import solara

import mesa_memory.viz.widgets as ui
from mesa_memory.viz.actions import ACTIONS, NO_ACTIONS, Actions
from mesa_memory.viz.address import Address
from mesa_memory.viz.data.presence import memory_class, missing
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.hooks import use_chosen, use_newest
from mesa_memory.viz.serving.live_run import LiveRun, RunState, labels
from mesa_memory.viz.views import GROUPS, Group, View
from mesa_memory.viz.views.empty import NO_MEMORIES, Nothing
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets.saying import HostPage
from mesa_memory.viz.widgets.tabs import PANEL, Panel, TabRow

_step_name = attrgetter("step_name")
NO_SUCH_RUN = (
    "The address asks for the run {wanted}, which this page does not have; another one "
    "is shown. Runs of a model that was kept in memory are gone when its program ends; "
    "recorded ones are opened with: mesa-memory dashboard FILE"
)
NO_STEP = (
    "No step is finished yet. Steps that another program records, or the controls of the "
    "page make, appear here by themselves."
)
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")


@solara.component
def Dashboard(
    feeds: Sequence[LiveRun],
    selection: Selection,
    usual: LiveRun | None = None,
    actions: Actions = NO_ACTIONS,
) -> Any:
    """All views of some runs.

    Args:
        feeds: at least one; more may follow.
        selection: of this session.
        usual: the run of a page without a choice; by default the first.
        actions: the actions on the current run.
    """
    wanted = selection.choice.run
    usual = usual or feeds[0]
    # A page adds to its own list; what was given it before would seem unchanged.
    feeds = solara.use_memo(lambda: tuple(feeds), [len(feeds)])
    feed = next((one for one in feeds if wanted and one.key == wanted), usual)
    seen = use_newest(feed)
    source = seen.source
    shown = use_chosen(source, selection.choice)
    use_run_in_address(feed, usual, seen.runs, selection)
    # Only the run that the page plays can be stepped.
    ACTIONS.provide(actions if feed is usual else replace(actions, step=None))
    with solara.Div(classes=["mm-page"]):
        solara.Style(STYLE)
        Address(selection)
        HostPage()
        if wanted and wanted != feed.key:
            ui.Note(NO_SUCH_RUN.format(wanted=wanted), "warning")
        for note in feed.notes:
            ui.Note(note, "warning")
        if seen.fault is not None:
            ui.Failure(seen.fault)
        if feed.run is None:
            return
        Controls(feeds, feed, source, selection)
        if not source.steps:
            Nothing(selection, NO_STEP)
            return
        Tabs(shown, selection, GROUPS)


def use_run_in_address(
    feed: LiveRun, usual: LiveRun, runs: int, selection: Selection
) -> None:
    """Writes the current run, or the run of a new model, into a page's address."""
    before = solara.use_ref(usual.key)

    def name() -> None:
        new, before.current = usual.key != before.current, usual.key
        wanted = usual.key if new else selection.choice.run or feed.key
        if (new or runs > 1) and wanted != selection.choice.run:
            selection.choose(run=wanted)

    solara.use_effect(name, [runs, feed.key, usual.key, selection.choice.run])


@solara.component
def Controls(
    feeds: Sequence[LiveRun], feed: LiveRun, source: RunState, selection: Selection
) -> Any:
    """Run, agent and step, for all views, with the class of the memory.

    Args:
        feeds: all runs of the page.
        feed: the one that is shown.
        source: its state.
        selection: of this session.
    """
    with solara.v.Sheet(class_="mm-bar"):
        if len(feeds) > 1:
            names = labels(feeds)

            def show(key: str) -> None:
                selection.choose(run=key)

            ui.Choose("Run", feed.key, names, show, wide=True)
        agent = selection.agent(source)
        ui.AgentPicker(source, selection, agent)
        if agent is not None and (told := source.of(memory_class, agent)):
            ui.Fact("memory", told, feed.memory)
        if told := source.of(_step_name):
            ui.Fact("step", told)
        ui.Timeline(source, selection)


@solara.component
def Tabs(source: RunState, selection: Selection, groups: Sequence[Group]) -> Any:
    """Groups of views, the views of one group, and the view that is chosen."""
    lacks = dict(source.of(missing))
    if len(source.all) > 1:
        lacks.pop("compare", None)
    views = [view for group in groups for view in group.views]
    chosen = (view for view in views if view.key == selection.choice.view)
    view = next(chosen, views[0])
    group = next(group for group in groups if view in group.views)
    with solara.Div():
        with solara.Div(classes=["mm-nav"]):
            _Row("View", groups, group, lacks, selection)
            _Row(f"{group.label}: views", group.views, view, lacks, selection)
        with Panel(view.label, shows=selection.shown(source, view.key).query()):
            if reason := lacks.get(view.key):
                Nothing(selection, reason).key(view.key)
            else:
                Guarded(view, source, selection).key(view.key)


def _Row(
    label: str,
    items: Sequence[Group | View],
    chosen: Group | View,
    lacks: dict[str, str],
    selection: Selection,
) -> Any:
    """A row of tabs, if there are several; those without content are grey."""

    def choose(place: int) -> None:
        views = items[place].views
        with_content = (view for view in views if view.key not in lacks)
        selection.choose(view=next(with_content, views[0]).key)

    tabs = [
        {"key": item.key, "label": item.label, "lacks": _reason(item, lacks)}
        for item in items
    ]
    if len(items) > 1:
        place = items.index(chosen)
        TabRow(tabs=tabs, place=place, label=label, panel=PANEL, event_choose=choose)


def _reason(item: Group | View, lacks: dict[str, str]) -> str:
    """The reason why a tab is empty; an empty text if one of its views has content."""
    reasons = [lacks.get(view.key, "") for view in item.views]
    return reasons[0] if all(reasons) else ""


@solara.component
def Guarded(view: View, source: RunState, selection: Selection) -> Any:
    """A view, or its error; the rest of the page goes on."""
    error, clear = solara.use_exception()
    # With another choice, or new steps, it may work again.
    solara.use_effect(clear, [selection.choice, source.stamp])
    agent, step = selection.agent(source), selection.step(source)
    if error is not None:
        ui.Failure(error)
    elif agent is None or step is None:
        Nothing(selection, NO_MEMORIES)
    else:
        view.component(Focus(source, selection, agent, step))
