"""Layers of well-known systems, with the constants of their authors."""

from mesa_memory.memories.grading import Grader
from mesa_memory.memories.layer import Layer
from mesa_memory.memories.recalling import Recollection
from mesa_memory.memories.reflecting import Reflector
from mesa_memory.memories.reflection import Reflection
from mesa_memory.memories.stream import EventStream
from mesa_memory.retrieval.scoring import Scoring


def generative_agent() -> list[Layer]:
    """The memory stream of *Generative Agents* (Park et al. 2023), by steps.

    Importance from 1 to 10, once, when an event comes; recency 0.99 to the power of the
    steps since an event last came to mind; relevance as cosine; each brought to 0..1
    over the candidates, weights 1; up to 3 insights from the last 20 records once 30 of
    importance have come together.
    """
    scoring = Scoring.generative_agents(decay=0.99)
    stream = EventStream(
        Grader("llm", top=10),
        Recollection(30, 0.99, scoring),
        Reflector(Reflection.direct(last=20, insights=3), 30.0),
        capacity=10_000,
    )
    return [stream]
