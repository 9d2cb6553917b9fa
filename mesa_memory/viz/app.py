"""The dashboard of a running model: inside Mesa's page, or as a page of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import solara
import solara.lab

from mesa_memory.hosts.solara import mesa_pages, on_redraw
from mesa_memory.viz.address import use_selection
from mesa_memory.viz.dashboard import Dashboard
from mesa_memory.viz.live import live_feed
from mesa_memory.viz.misuse import check_agents, check_shown, checked_views
from mesa_memory.viz.origin import FOREIGN, opened_elsewhere
from mesa_memory.viz.step_lock import take_turns
from mesa_memory.viz.views import View

mesa_viz = mesa_pages()


def make_memory_component(
    views: Sequence[str] | None = None, page: int = 0, *, record: bool = True
) -> tuple[Callable[..., Any], int]:
    """The dashboard as a component for ``SolaraViz(model, components=[...])``.

    Args:
        views: keys of the views to show, such as ``["agent"]``; None is all.
        page: tab of Mesa's page on which it stands.
        record: record a model in memory that nobody records, from its first step on.

    Returns:
        (component, page), as Mesa's own makers do.

    Raises:
        TypeError: for a wrong kind of argument.
        ValueError: for a view that does not exist.
    """
    shown = checked_views(views)
    if not isinstance(page, int):
        raise TypeError(f"page must be the number of a tab of Mesa's, got {page!r}")

    @solara.component
    def MemoryComponent(model: Any) -> Any:
        if opened_elsewhere():
            solara.Error(FOREIGN)
        else:
            check_shown(model, "the component of make_memory_component()")
            _Live(model, shown, record)

    return MemoryComponent, page


@solara.component
def _Live(model: Any, views: list[View], record: bool) -> Any:
    solara.use_memo(lambda: take_turns(model), [id(model)])
    feed = solara.use_memo(lambda: live_feed(model, record), [id(model)])
    Dashboard([feed], use_selection(), views, _told)


def _told(stepped: Callable[[], None]) -> Callable[[], None]:
    """Has a function called whenever Mesa says that its page is to be drawn anew."""
    return on_redraw(stepped)


def MemoryViz(
    model: Any,
    components: Sequence[Any] = (),
    *,
    model_params: Mapping[str, Any] | None = None,
    views: Sequence[str] | None = None,
    name: str | None = None,
    play_interval: int = 100,
    record: bool = True,
) -> Any:
    """A page with a model's controls, its memories, and components of Mesa.

    Args:
        model: the model to begin with; Reset makes another one of its class.
        components: shown on the tabs after the dashboard, as for ``SolaraViz``.
        model_params: as for ``SolaraViz``.
        views: keys of the views to show; None is all.
        name: title; by default the model's class.
        play_interval: milliseconds between two steps while it plays.
        record: record a model in memory that nobody records, from its first step on.

    Raises:
        TypeError: if the model is none, or for another wrong kind of argument.
        ValueError: for a view that does not exist, or a model without agents that
            nobody records.
    """
    check_shown(model, "MemoryViz")
    check_agents(model, "MemoryViz")
    shown, params = checked_views(views), dict(model_params or {})
    return _Guarded(model, list(components), params, shown, name, play_interval, record)


@solara.component
def _Guarded(model: Any, *given: Any) -> Any:
    """The page, unless it was opened from elsewhere."""
    if opened_elsewhere():
        solara.Error(FOREIGN)
    else:
        _Page(model, *given)


@solara.component
def _Page(
    model: Any,
    components: list[Any],
    params: dict[str, Any],
    views: list[View],
    name: str | None,
    play_interval: int,
    record: bool,
) -> Any:
    """The page, see ``MemoryViz``."""
    current = solara.use_reactive(model)
    tab = solara.use_reactive(0)
    with solara.AppBar():
        solara.AppBarTitle(name or type(current.value).__name__)
        solara.lab.ThemeToggle()
    with solara.Sidebar():
        _Controls(current, params, play_interval)
    with solara.Column(gap="0px"):
        if components:
            with solara.v.Tabs(v_model=tab.value, on_v_model=tab.set):
                solara.v.Tab(children=["Memory"])
                solara.v.Tab(children=["Model"])
        if tab.value == 0:
            _Live(current.value, views, record)
        else:
            _Model(components, current.value)


@solara.component
def _Model(components: list[Any], model: Any) -> Any:
    """Components of Mesa; its tabs only if there is more than one."""
    pages = {part[1] if isinstance(part, tuple) else 0 for part in components}
    with solara.Div(
        classes=["mm-model", "mm-alone"] if len(pages) < 2 else ["mm-model"]
    ):
        solara.Style(".mm-alone .v-tabs-bar { display: none; }")
        mesa_viz.ComponentsView(components, model)


@solara.component
def _Controls(model: Any, params: dict[str, Any], play_interval: int) -> Any:
    """Mesa's own controls."""
    values = solara.use_reactive(dict[str, Any]())
    interval, every = solara.use_reactive(play_interval), solara.use_reactive(1)
    threads = solara.use_reactive(False)
    with solara.Card("Controls"):
        solara.SliderInt("Play interval (ms)", value=interval, min=1, max=500, step=10)
        solara.SliderInt("Steps between two pictures", value=every, min=1, max=100)
        mesa_viz.ModelController(
            model,
            model_parameters=values,
            play_interval=interval,
            render_interval=every,
            use_threads=threads,
        )
    with solara.Card("Model parameters"):
        mesa_viz.ModelCreator(model, params, model_parameters=values)
    with solara.Card("Information"):
        mesa_viz.ShowSteps(model.value)
