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

from mesa_memory import EpisodicMemory, Services, configure, register_policy

#: events of one step, and seconds that it may take
EVENTS, SECONDS = 100_000, 15
#: steps of a run; after the first ``SETTLED`` it may grow by ``MEGABYTES``
STEPS, SETTLED, MEGABYTES = 5_000, 500, 5
#: a recorded run: by then the cache of its file, at most 128 MiB, is full
CACHED = 2_500


def quiet() -> str:
    """The name of a model that says nothing."""
    return register_policy("quiet", lambda turn: "")


def one_step() -> float:
    """Seconds for one step with many events, until its memory has been read."""
    model = mesa.Model(rng=1)
    configure(model, llm="offline")
    agent = LLMAgent(model, CoTReasoning, quiet())
    memory = agent.memory = EpisodicMemory(agent)
    model.step()
    began = time.perf_counter()
    for number in range(EVENTS):
        text = f"Bridge number {number} is broken"
        memory.add_to_memory("message", {"message": text, "sender": 5})
    memory.process_step()
    Services.of(model).flush()
    assert memory.get_prompt_ready()
    return time.perf_counter() - began


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
    settled = SETTLED if record is None else CACHED
    for step in range(1, STEPS + 1):
        town.step()
        if step == settled:
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
    seconds = one_step()
    print(f"{STEPS:,} steps: {grown:.1f} MB after step {SETTLED} ({MEGABYTES})")
    print(f"{STEPS:,} steps, recorded: {recorded:.1f} MB after {CACHED} ({MEGABYTES})")
    print(f"{EVENTS:,} events in a step: {seconds:.1f} s ({SECONDS})")
    assert max(grown, recorded) <= MEGABYTES and seconds <= SECONDS


if __name__ == "__main__":
    main()
