"""The dashboard of a running model: inside Mesa's page, or as a page of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import solara
import solara.lab

from mesa_memory.hosts.solara import mesa_pages, redraw
from mesa_memory.runtime.services import Services
from mesa_memory.viz.actions import Actions
from mesa_memory.viz.address import use_selection
from mesa_memory.viz.dashboard import STYLE, Dashboard
from mesa_memory.viz.live.controls import Controls
from mesa_memory.viz.live.page_runs import PageRuns, record_from_first_step, use_current
from mesa_memory.viz.serving.live_run import LiveRun, labels
from mesa_memory.viz.serving.origin import FOREIGN, opened_elsewhere
from mesa_memory.viz.widgets import Note
from mesa_memory.viz.widgets.saying import HostPage
from mesa_memory.viz.widgets.tabs import Panel, TabRow

mesa_viz = mesa_pages()
PARTS = [{"key": "memory", "label": "Memory"}, {"key": "model", "label": "Model"}]
#: beside Mesa's own controls, which know nothing of other runs
NOT_PLAYED = "Another run is shown than the one that the controls of this page play, which is {}."


def make_memory_component(page: int = 0) -> tuple[Callable[..., Any], int]:
    """The dashboard as a component for ``SolaraViz(model, components=[...])``.

    While it exists, each unrecorded model that a page steps is recorded in memory, from
    its first step on. So the tab shows all steps whenever it is opened. In a notebook,
    which has no page's thread, this holds for each model that is stepped.

    Args:
        page: tab of Mesa's page on which it stands.

    Returns:
        (component, page), as Mesa's own makers do.

    Raises:
        TypeError: for a wrong kind of argument.
    """
    if not isinstance(page, int):
        raise TypeError(
            f"page must be the number of a tab of Mesa's, got {page!r:.80}; the model is "
            "given by SolaraViz"
        )

    # Mesa gives a component the model when its tab is shown, which may be late.
    def meet(model: Any) -> None:
        record_from_first_step(model)

    Services.watch(meet)

    @solara.component
    def MemoryComponent(model: Any) -> Any:
        if opened_elsewhere():
            solara.Error(FOREIGN)
        else:
            check_shown(model, "the component of make_memory_component()")
            meet(model)
            _Live(model)

    return MemoryComponent, page


@solara.component
def _Live(model: Any) -> Any:
    """The dashboard in Mesa's own page, which names the model."""
    page = solara.use_memo(lambda: PageRuns.of(model), [])
    feed, selection = page.show(model), use_selection()

    def played() -> Any:
        chosen = page.model(selection.choice.run)
        return model if chosen in (None, model) else None

    if played() is None:
        Note(NOT_PLAYED.format(labels(page.feeds)[feed.key]), "warning")
    Dashboard(page.feeds, selection, feed, _actions(page, played))


def _actions(page: PageRuns, played: Callable[[], Any]) -> Actions:
    """Actions of views: a step, or another run, applied to the whole page.

    Args:
        page: keeps other runs.
        played: gives the model to step at the time of a press; None if the page shows a
            run by then that it does not play.
    """

    def step() -> None:
        if (model := played()) is not None:
            model.step()
        redraw()

    def keep(made: Any) -> LiveRun:
        feed = page.show(made)
        redraw()
        return feed

    return Actions(step, keep)


def MemoryViz(
    model: Any,
    components: Sequence[Any] = (),
    *,
    model_params: Mapping[str, Any] | None = None,
    name: str | None = None,
    play_interval: int = 100,
    repeat: bool = False,
) -> Any:
    """A page with a model's controls, its memories, and components of Mesa.

    An unrecorded model is recorded in memory, from its first step on.

    Args:
        model: the model to begin with; Reset makes another one of its class, and the
            runs of both stay in the page's list.
        components: shown on the tabs after the dashboard, as for ``SolaraViz``.
        model_params: as for ``SolaraViz``.
        name: title; by default the model's class.
        play_interval: milliseconds between two steps while it plays.
        repeat: Reset plays the new model at once until it is as old as the last one,
            so that the two can be compared; people can change that on the page.

    Raises:
        TypeError: if the model is not a Mesa model, or for another wrong kind of
            argument.
    """
    check_shown(model, "MemoryViz")
    params = dict(model_params or {})
    title = name or type(peek(model)).__name__
    return _Guarded(model, list(components), params, title, play_interval, repeat)


@solara.component
def _Guarded(model: Any, *given: Any) -> Any:
    """The page, unless it was opened from elsewhere."""
    if opened_elsewhere():
        solara.Error(FOREIGN)
    else:
        _Page(peek(model), *given)


@solara.component
def _Page(
    model: Any,
    components: list[Any],
    params: dict[str, Any],
    title: str,
    play_interval: int,
    repeat: bool,
) -> Any:
    """The page, see ``MemoryViz``."""
    page = solara.use_memo(lambda: PageRuns.of(model), [])
    selection = use_selection()
    current = use_current(page, selection)
    feed = page.show(current.value)
    tab = solara.use_reactive(0)
    with solara.AppBar():
        solara.AppBarTitle(title)
        solara.lab.ThemeToggle()
    solara.Title(title)
    solara.Style(STYLE)
    HostPage()
    with solara.Div(classes=["mm-shell"]):
        Controls(page, current, params, selection, play_interval, repeat)
        with solara.Div(classes=["mm-main"]):
            if components:
                TabRow(
                    tabs=PARTS,
                    place=tab.value,
                    label="Show",
                    panel="mm-part",
                    event_choose=tab.set,
                )
            with Panel(("of memory", "of the model")[tab.value], panel="mm-part"):
                if tab.value == 0:
                    actions = _actions(page, lambda: current.value)
                    Dashboard(page.feeds, selection, feed, actions)
                else:
                    _Model(components, current.value)


def _Model(components: list[Any], model: Any) -> Any:
    """Components of Mesa; its tabs only if there is more than one."""
    pages = {part[1] if isinstance(part, tuple) else 0 for part in components}
    with solara.Div(
        classes=["mm-model", "mm-alone"] if len(pages) < 2 else ["mm-model"]
    ):
        solara.Style(".mm-alone .v-tabs-bar { display: none; }")
        mesa_viz.ComponentsView(components, model)


def check_shown(model: Any, call: str) -> None:
    """Checks that a page gets a model.

    Args:
        model: or a reactive variable that holds it.
        call: the user's call, for the message.

    Raises:
        TypeError: if it is not a model.
    """
    model = peek(model)
    if not hasattr(model, "agents") or not hasattr(type(model), "step"):
        raise TypeError(
            f"{call} shows a Mesa model, as Town() makes one, got {model!r:.80}: write "
            f"{call}(model)"
        )


def peek(model: Any) -> Any:
    """A model, or the one that a reactive variable holds."""
    return model.peek() if isinstance(model, solara.Reactive) else model
