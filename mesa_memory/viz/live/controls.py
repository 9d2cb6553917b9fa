"""The controls of a live page: play, speed and parameters."""

from typing import Any

import solara

from mesa_memory.viz.live.page_runs import Current, PageRuns
from mesa_memory.viz.live.parameters import Parameters
from mesa_memory.viz.live.player import Player
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Slide
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
        _Before(page, feed.key, selection)
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
def _Before(page: PageRuns, key: str, selection: Selection) -> Any:
    """A way to compare the run with the one before it."""
    keys = [feed.key for feed in page.feeds]
    place = keys.index(key)
    if place:
        solara.Button(
            "Compare with the run before",
            icon_name="mdi-compare",
            text=True,
            small=True,
            on_click=lambda: selection.choose(
                view="compare", other_run=keys[place - 1], other_agent=None
            ),
        )
