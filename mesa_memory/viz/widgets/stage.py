"""A picture of agents where they are, that plays step by step in the browser."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import solara

from mesa_memory.viz.widgets.chart import COLOURS

#: how it looks; for the view that shows it
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
#: of agents without a value
NEUTRAL = "#B5B5B5"


@dataclass(frozen=True)
class Legend:
    """The meaning of the colours of a picture.

    Attributes:
        label: what they show.
        classes: a name for each number from 0 on; empty for numbers.
        low, high: of the numbers.
    """

    label: str
    classes: Sequence[str] = ()
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Ground:
    """The places of the agents.

    Attributes:
        box: least x, least y, greatest x, greatest y.
        spots: x and y of each agent in one list; None for one who is nowhere.
        ties: lines from x, y to x, y.
        cells: of a grid, how many across and up; empty for none.
    """

    box: Sequence[float]
    spots: Sequence[float | None]
    ties: Sequence[Sequence[float]] = field(default_factory=list)
    cells: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Reel:
    """The steps and agents of pictures; the page does not read it.

    Attributes:
        version: another one makes the browser forget the pictures that it has.
        steps: names of all steps.
        agents: their names.
        bare: places of the agents without a memory.
    """

    version: str
    steps: list[str]
    agents: list[str]
    bare: list[int]


@solara.component_vue("stage.vue")
def _Stage(
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
) -> None: ...


@solara.component
def Stage(
    reel: Reel,
    frames: list[dict[str, Any]],
    begin: int,
    selected: int,
    ground: Ground,
    legend: Legend,
    on_need: Callable[[int], None],
    on_agent: Callable[[int], None],
    on_message: Callable[[int, int], None],
) -> Any:
    """Agents as coloured shapes, messages as arrows with the words.

    It plays by itself, has the page's slider follow, and asks for pictures in time.

    Args:
        reel: the same object while nothing in it changes.
        frames: pictures, see ``data.frames``; earlier ones are kept. The same
            object until a new one comes.
        begin: place of the step that is shown at first; then it is the slider's.
        selected: place of the agent that stands out, or -1.
        ground: where they are, at ``begin``.
        legend: of the values in the pictures.
        on_need: called with the place of a step of which it needs the picture.
        on_agent: called with the place of the agent that was clicked.
        on_message: called with the place of a step and of the message that was clicked.
    """
    # As text: else every drawing of the page would walk through all the numbers.
    names = solara.use_memo(
        lambda: json.dumps(
            {"steps": reel.steps, "agents": reel.agents, "bare": reel.bare}
        ),
        [reel],
    )
    held = solara.use_memo(lambda: json.dumps(asdict(ground)), [ground])
    pictures = solara.use_memo(lambda: json.dumps(frames), [id(frames)])
    return _Stage(
        version=reel.version,
        names=names,
        begin=begin,
        selected=selected,
        ground=held,
        legend=asdict(legend),
        pictures=pictures,
        colours=list(COLOURS),
        neutral=NEUTRAL,
        event_need=on_need,
        event_agent=on_agent,
        event_message=lambda at: on_message(int(at["place"]), int(at["message"])),
    )
