"""A model of ``benchmarks.watched`` in Mesa's page, for ``solara run``.

The address says ``case``, ``steps``, ``pause`` in milliseconds, ``base``, and
``dashboard``: 1, or 0 for a component that shows next to nothing in its place.
"""

from typing import Any
from urllib.parse import parse_qsl

import mesa
import solara
from mesa.visualization import SolaraViz
from mesa.visualization.utils import update_counter

from benchmarks.watched import MODELS, first, timed
from mesa_memory.viz import make_memory_component


@solara.component
def watched() -> Any:
    """The model, and the dashboard or next to nothing."""
    given = dict(parse_qsl(solara.use_router().search or ""))
    model = solara.use_memo(lambda: made(given), [])
    shown = given["dashboard"] == "1"
    parts = solara.use_memo(
        lambda: [make_memory_component() if shown else (nothing, 0)], []
    )
    SolaraViz(model, components=parts, play_interval=int(given["pause"]))


def made(given: dict[str, str]) -> mesa.Model:
    """The model of an address, recorded in memory, with its first steps made."""
    model = MODELS[given["case"]](True, given.get("base"))
    return first(timed(model, int(given["steps"]), "tell" in given))


@solara.component
def nothing(model: mesa.Model) -> Any:
    """The step, as Mesa's own components are told of it."""
    update_counter.get()
    solara.Text(f"step {model.steps}")


page = watched()
