"""Processor time of an agent's own request: of Mesa-LLM alone, covered, and recorded.

    python -m benchmarks.decisions

A local server, a process of its own, answers at once. The least of several turns counts,
as other programs disturb each; all three ways are measured in turn.
"""

import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import Services, ShortTermMemory, configure
from tests.support.server_process import ServerProcess

CALLS, TURNS = 300, 5
PROMPT = "You meet a neighbour. What do you say?\n" + "It rains in the village. " * 60


class Asking(mesa.Model):
    """One agent that asks ``CALLS`` times in each step."""

    def __init__(self, base: str, agents: bool, record: str | None) -> None:
        super().__init__(rng=1)
        configure(self, agents=agents, record=record)
        self.agent = LLMAgent(self, CoTReasoning, "openai/local", api_base=base)
        self.agent.memory = ShortTermMemory(self.agent)

    def step(self) -> None:
        """Asks."""
        for number in range(CALLS):
            self.agent.llm.generate(f"{number}. {PROMPT}")


def measured(base: str, agents: bool, record: str | None) -> float:
    """Milliseconds of processor time for each request, the end of the record included."""
    model = Asking(base, agents, record)
    model.step()  # connections and caches are there then
    began = time.process_time()
    model.step()
    if (recorder := Services.of(model).recorder) is not None:
        recorder.close()
    return (time.process_time() - began) / CALLS * 1000


def main() -> None:
    """Prints the three times, what is added, and the ratio to Mesa-LLM alone."""
    ways = {"Mesa-LLM": (False, 0), "covered": (True, 0), "recorded": (True, 1)}
    least = dict.fromkeys(ways, float("inf"))
    with ServerProcess() as server, tempfile.TemporaryDirectory() as folder:
        for turn in range(TURNS):
            for name, (agents, records) in ways.items():
                file = str(Path(folder) / f"{turn}.sqlite") if records else None
                found = measured(server.base, agents, file)
                least[name] = min(least[name], found)
    for name, value in least.items():
        added, ratio = value - least["Mesa-LLM"], value / least["Mesa-LLM"]
        print(f"{name:9} {value:.2f} ms a request, {added:+.2f}, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
