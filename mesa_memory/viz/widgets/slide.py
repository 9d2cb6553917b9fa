"""A number on a line, with its value beside it."""

from collections.abc import Callable

import solara


@solara.component_vue("slide.vue")
def Slide(
    label: str,
    value: float,
    min: float,
    max: float,
    step: float,
    event_change: Callable[[float], None],
) -> None:
    """A slider whose value is always to be read.

    Args:
        label: what is chosen.
        value, min, max, step: numbers.
        event_change: called with the number on which the slider was left.
    """
