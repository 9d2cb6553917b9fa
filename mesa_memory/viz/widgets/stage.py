"""A picture of agents where they are, that plays step by step in the browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import solara

#: how it looks; for the view that shows it
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
#: of agents without a value
NEUTRAL = "#B5B5B5"


@solara.component_vue("stage.vue")
def Stage(
    version: str,
    names: str,
    begin: int,
    selected: int,
    ground: str,
    legend: dict[str, Any],
    pictures: str,
    colours: list[str],
    neutral: str,
    event_need: Callable[[int], None],
    event_agent: Callable[[int], None],
    event_message: Callable[[dict[str, int]], None],
) -> None:
    """Agents as coloured shapes, messages as arrows with the words.

    It plays by itself, has the page's slider follow, and asks for pictures in time. What
    is long is JSON: else every drawing of the page would walk through all of it.

    Args:
        version: another one makes the browser forget the pictures that it has.
        names: JSON of ``steps`` and ``agents``, the names of all, and ``bare``, the
            places of the agents without a memory.
        begin: place of the step that is shown at first; then it is the slider's.
        selected: place of the agent that stands out, or -1.
        ground: JSON of ``box`` (least x and y, greatest x and y), ``spots`` (x and y of
            each agent in one list, None for one who is nowhere), ``ties`` (lines from x,
            y to x, y) and ``cells`` (of a grid, how many across and up; empty for none).
        legend: ``label`` of the colours, ``classes`` (a name for each number from 0 on;
            empty for numbers), ``low`` and ``high`` of the numbers.
        pictures: JSON of new pictures, see ``data.frames``; earlier ones are kept.
        colours: of the classes.
        neutral: colour of agents without a value.
        event_need: called with the place of a step of which it needs the picture.
        event_agent: called with the place of the agent that was clicked.
        event_message: called with the ``place`` of a step, and of the ``message`` in it
            that was clicked.
    """
