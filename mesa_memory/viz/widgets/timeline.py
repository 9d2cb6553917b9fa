"""The step slider: time travel for all views at once."""

import json
from collections.abc import Callable
from typing import Any

import solara

from mesa_memory.viz.selection import NEWEST, Selection
from mesa_memory.viz.serving.live_run import RunState


@solara.component_vue("timeline.vue")
def _Timeline(
    names: str, index: int, follow: bool, event_choose: Callable[[int | None], None]
) -> None: ...


@solara.component
def Timeline(source: RunState, selection: Selection) -> Any:
    """Slider, buttons and arrow keys that choose the step; stays with the newest.

    Args:
        source: its finished steps.
        selection: of this session.
    """
    steps, chosen = source.steps, selection.step(source)

    def choose(place: int | None) -> None:
        if place is None or not source.steps:
            selection.choose(step=NEWEST)
        else:
            selection.choose(step=source.steps[min(place, len(source.steps) - 1)])

    # As text: else every drawing of the page would walk through all the steps.
    names = solara.use_memo(lambda: json.dumps(list(map(number, steps))), [source])
    return _Timeline(
        names=names,
        index=steps.index(chosen) if chosen is not None else 0,
        follow=selection.follows(source),
        event_choose=choose,
    )


def counted(count: int, noun: str) -> str:
    """A number of things, such as ``1 step`` and ``2 steps``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def number(step: float) -> str:
    """A step as people write it: without needless digits."""
    return f"{step:.15g}"
