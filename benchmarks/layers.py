"""Four layers that think at the same time: a step takes as long as its slowest one.

    python -m benchmarks.layers

Each request takes a fixed time, by its purpose; the offline model writes the answer. The
layers of one memory ask in each step: a summary, impressions, facts and grades. Beside
them, the slowest one alone, with the same news.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")  # nobody is asked

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import show
from mesa_memory import (
    EventStream,
    Facts,
    Impressions,
    LayeredMemory,
    OfflineLLM,
    RunningSummary,
    Window,
    configure,
)
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.layers import Consolidation

#: seconds of a request, by purpose
SECONDS = {"consolidate": 0.3, "impression": 0.2, "extract": 0.4, "grade": 0.9}
STEPS = 6
#: a step may take so many times its slowest layer
LIMIT = 1.2


class Slow:
    """The offline model, which takes its time."""

    def __init__(self) -> None:
        self._model = OfflineLLM()

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The offline answer, late."""
        await asyncio.sleep(SECONDS.get(request.purpose, 0.0))
        return self._model.complete(request)


def four(agent: Any) -> LayeredMemory:
    """A summary, impressions, facts and graded events."""
    window = Window(None)
    summary = RunningSummary(window, Consolidation(1, 1, None))
    layers = [window, summary, Impressions(window, 1), Facts(), EventStream()]
    return LayeredMemory(agent, layers)


def slowest(agent: Any) -> LayeredMemory:
    """Graded events alone."""
    return LayeredMemory(agent, [EventStream()])


def seconds(make: Callable[[Any], Any], execution: str) -> float:
    """Wall time of a step in which all layers ask."""
    model = mesa.Model(rng=1)
    configure(model, llm=Slow(), execution=execution)
    agent = LLMAgent(model, CoTReasoning, "openai/test")
    memory = agent.memory = make(agent)
    began = 0.0
    for step in range(STEPS + 2):
        if step == 2:  # from now on the summary is due in each step
            began = time.perf_counter()
        model.step()
        said = {"message": f"On day {step} I sold {step * 7} fish.", "sender": 7}
        memory.add_to_memory("message", said)
        memory.process_step()
        memory.get_prompt_ready()
    return (time.perf_counter() - began) / STEPS


def main() -> None:
    """Prints a row for each execution; fails above the limit."""
    rows = []
    for execution in ("blocking", "deferred"):
        alone, together = seconds(slowest, execution), seconds(four, execution)
        rows.append(
            {
                "execution": execution,
                "slowest_alone_s": alone,
                "four_layers_s": together,
                "one_after_the_other_s": sum(SECONDS.values()),
                "times": together / alone,
            }
        )
    show("Seconds of a step", rows)
    sys.exit(any(row["times"] > LIMIT for row in rows))


if __name__ == "__main__":
    main()
