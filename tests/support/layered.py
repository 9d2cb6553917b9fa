"""Layered memories as the tests of all classes need them."""

from typing import Any

from mesa_memory import LayeredMemory, Window
from mesa_memory.layers.consolidation import Consolidation
from mesa_memory.layers.impressions import Impressions
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.grading import Grader
from mesa_memory.layers.stream.recalling import Recollection
from mesa_memory.layers.summary import RunningSummary


def four(agent: Any, budget: int = 2000, **given: Any) -> LayeredMemory:
    """Recent steps, their summary, impressions and a stream, all of which soon ask."""
    window = Window(None)
    layers = [
        window,
        RunningSummary(window, Consolidation(2, 1, None)),
        Impressions(window, update_every=2),
        EventStream(capacity=given.pop("capacity", 15)),
    ]
    return LayeredMemory(agent, layers, budget, **given)


def unbounded(agent: Any) -> LayeredMemory:
    """Four layers that show all that they hold, and ask in each step."""
    window = Window(None)
    recollection = Recollection(considered=1000)
    layers = [
        window,
        RunningSummary(window, Consolidation(2, 1, None)),
        Impressions(window, update_every=2),
        EventStream(Grader(together=1), recollection, capacity=10_000),
    ]
    return LayeredMemory(agent, layers, 10**6)
