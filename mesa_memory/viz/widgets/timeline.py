"""The step slider: time travel for all views at once."""

from collections.abc import Callable
from typing import Any

import solara

from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection


@solara.component_vue("timeline.vue")
def _Timeline(
    steps: list[str],
    index: int,
    follow: bool,
    event_choose: Callable[[int | None], None],
) -> None: ...


@solara.component
def Timeline(source: Source, selection: Selection) -> Any:
    """Slider, buttons and arrow keys that choose the step; stays with the newest."""
    steps, chosen = source.steps, selection.step(source)

    def choose(place: int | None) -> None:
        if place is None or not source.steps:
            selection.choose(step=None)
        else:
            selection.choose(step=source.steps[min(place, len(source.steps) - 1)])

    return _Timeline(
        steps=[number(step) for step in steps],
        index=steps.index(chosen) if chosen is not None else 0,
        follow=selection.choice.step is None,
        event_choose=choose,
    )


def number(step: float) -> str:
    """A step as people write it: without needless digits."""
    return f"{step:.15g}"
