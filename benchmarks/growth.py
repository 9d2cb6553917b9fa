"""What grows: the time of a step with many events, and the memory of a long run.

python -m benchmarks.growth
"""

import gc
import tempfile
import time
from pathlib import Path
from typing import Any

import mesa
import psutil
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    MemoryModule,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
    register_policy,
)

#: events of one step, and seconds that it may take
EVENTS, SECONDS = 100_000, 15
MEMORIES: list[type[MemoryModule]] = [
    EpisodicMemory,
    ShortTermMemory,
    STLTMemory,
    LongTermMemory,
    ImpressionMemory,
]
#: steps of a run; after the first ``SETTLED`` it may grow by ``MEGABYTES``
STEPS, SETTLED, MEGABYTES = 5_000, 500, 5


def quiet() -> str:
    """The name of a model that says nothing."""
    return register_policy("quiet", lambda turn: "")


def one_step(memory_class: type[MemoryModule]) -> tuple[float, float]:
    """Seconds, by the clock and of the processor, for one step with many events.

    They end when the memory has been read.
    """
    model = mesa.Model(rng=1)
    configure(model, llm="offline")
    agent = LLMAgent(model, CoTReasoning, quiet())
    memory = agent.memory = memory_class(agent)
    model.step()
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(EVENTS):
        text = f"Bridge number {number} is broken"
        memory.add_to_memory("message", {"message": text, "sender": 5})
    memory.process_step()
    Services.of(model).flush()
    assert memory.get_prompt_ready()
    return time.perf_counter() - began, time.process_time() - cpu


class Talker(LLMAgent):
    """Says each day something new."""

    def step(self) -> None:
        """One message to all others, after a look at the memory."""
        self.memory.process_step(pre_step=True)
        self.memory.get_prompt_ready()
        others = [agent for agent in self.model.agents if agent is not self]
        said = f"Bridge number {self.model.steps} is broken, says {self.unique_id}"
        self.send_message(said, others)
        self.memory.process_step()


class Town(mesa.Model):
    """Agents whose memories are full long before ``SETTLED``."""

    def __init__(self, record: Any = None) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", record=record)
        for _ in range(5):
            agent = Talker(self, CoTReasoning, quiet())
            agent.memory = EpisodicMemory(agent, max_capacity=50)

    def step(self) -> None:
        """All talk."""
        self.agents.do("step")


def long_run(record: Any = None) -> float:
    """Megabytes by which the process has grown, once its caches were full."""
    town, process, before = Town(record), psutil.Process(), 0
    for step in range(1, STEPS + 1):
        town.step()
        if step == SETTLED:
            gc.collect()
            before = process.memory_info().rss
    gc.collect()
    grown = (process.memory_info().rss - before) / 1e6
    if record is not None:
        Services.of(town).recorder.close()
    return grown


def main() -> None:
    """Prints all, and says whether they are within their limits."""
    grown = long_run()
    with tempfile.TemporaryDirectory() as folder:
        recorded = long_run(Path(folder, "run.sqlite"))
    print(f"{STEPS:,} steps: {grown:.1f} MB after step {SETTLED} ({MEGABYTES})")
    print(f"{STEPS:,} steps, recorded: {recorded:.1f} MB after {SETTLED} ({MEGABYTES})")
    slowest = 0.0
    for kind in MEMORIES:
        seconds, cpu = one_step(kind)
        slowest = max(slowest, seconds)
        name = f"{EVENTS:,} events in a step, {kind.__name__}"
        print(f"{name}: {seconds:.1f} s, {cpu:.1f} s of the processor ({SECONDS})")
    assert max(grown, recorded) <= MEGABYTES and slowest <= SECONDS


if __name__ == "__main__":
    main()
