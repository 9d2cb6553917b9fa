"""The controls of a live page: play, speed and parameters."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import solara

from mesa_memory.hosts.solara import adjustable, check_model_params
from mesa_memory.viz.live.page_runs import Current, PageRuns
from mesa_memory.viz.live.player import Player
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Choose, Slide
from mesa_memory.viz.widgets.saying import Fold


@solara.component
def Controls(
    page: PageRuns,
    current: Current,
    params: dict[str, Any],
    selection: Selection,
    play_interval: int = 100,
    repeat: bool = False,
) -> Any:
    """Buttons that are always in sight, and settings below them; see ``MemoryViz``."""
    values = solara.use_reactive(dict[str, Any]())
    interval = solara.use_reactive(play_interval)
    repeats = solara.use_reactive(repeat)
    feed = page.show(current.value)
    with solara.v.Html(
        tag="section", class_="mm-side", attributes={"aria-label": "Controls"}
    ):
        Player(current, values, interval, repeats)
        keys = [one.key for one in page.feeds]
        if place := keys.index(feed.key):
            before = {"other_run": keys[place - 1], "other_agent": None}
            solara.Button(
                "Compare with the run before",
                partial(selection.choose, view="compare", **before),
                icon_name="mdi-compare", text=True, small=True,
            )  # fmt: skip
        with Fold("Parameters and speed"):
            if params:
                made_with = {} if feed.facts is None else feed.facts.parameters
                Parameters(current.value, params, values, made_with)
            solara.Checkbox(label="Reset plays as many steps", value=repeats)
            Slide(
                label="Milliseconds between steps",
                value=interval.value, min=1, max=500, step=1,
                event_change=lambda new: interval.set(int(new)),
            )  # fmt: skip


@solara.component
def Parameters(
    model: Any,
    params: Mapping[str, Any],
    values: solara.Reactive[dict[str, Any]],
    made_with: Mapping[str, Any],
) -> Any:
    """A field for each parameter that can be changed; says where Reset changes something.

    Args:
        model: of which Reset makes another one.
        params: as for ``SolaraViz``.
        values: the values with which Reset makes a model.
        made_with: those of the model that is shown, as they were recorded.
    """
    solara.use_effect(lambda: check_model_params(model, params), [id(model)])
    fixed, free = adjustable(params)
    first = {name: _first(one, made_with.get(name)) for name, one in free.items()}
    solara.use_effect(lambda: values.set({**fixed, **first}), [])
    for name, one in free.items():
        value = values.value.get(name, first[name])

        def choose(new: Any, name: str = name) -> None:
            values.value = {**values.peek(), name: new}

        with solara.Div(classes=["mm-parameter"]).key(name):
            _Field(one, value, choose)
            if name in made_with and value != made_with[name]:
                now = f"{made_with[name]} in the run that is shown; applies at Reset"
                solara.Text(now, classes=["mm-pending"])


def _Field(one: dict[str, Any], value: Any, choose: Callable[[Any], None]) -> Any:
    """One parameter, as Mesa describes it."""
    label, kind = one["label"], one["type"]
    if kind in ("SliderInt", "SliderFloat"):
        number = int if kind == "SliderInt" else float
        Slide(
            label=label,
            value=value,
            min=one["min"],
            max=one["max"],
            step=one["step"],
            event_change=lambda new: choose(number(new)),
        )
    elif kind == "Select":
        named = {str(one): one for one in one["values"]}
        names = {text: text for text in named}
        Choose(label, str(value), names, lambda key: choose(named[key]))
    elif kind == "Checkbox":
        solara.Checkbox(label=label, value=value, on_value=choose)
    else:
        solara.InputText(label, value=value, on_value=choose)


def _first(one: dict[str, Any], made_with: Any) -> Any:
    """The value of the model that is shown, if it is of the field's kind."""
    usual = one["value"]
    if one["type"] == "Select":
        return made_with if made_with in one["values"] else usual
    kind = int | float if one["type"].startswith("Slider") else type(usual)
    return made_with if isinstance(made_with, kind) else usual
