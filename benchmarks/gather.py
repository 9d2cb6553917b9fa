"""What goes on side by side takes as long as its slowest part.

python -m benchmarks.gather
"""

import asyncio
import time
from typing import Any

import mesa
import numpy as np
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    LLMRequest,
    OfflineLLM,
    Services,
    configure,
    register_policy,
)
from mesa_memory.core.requests import gather

#: seconds for three requests of 0.3 s beside one of 0.9 s
FLOWS_S = 1.0
#: seconds for a step of 20 agents whose embedder takes 0.1 s
STEP_S = 0.3


class Paced:
    """Answers as the offline model does, after as long as the prompt says."""

    def __init__(self) -> None:
        self._model = OfflineLLM()

    async def acomplete(self, request: Any) -> Any:
        """The answer, late."""
        await asyncio.sleep(float(request.prompt))
        return self._model.complete(request)


class Gathering(EpisodicMemory):
    """Asks three short questions one after the other, and beside them a long one."""

    def remember(self) -> Any:
        """Both flows."""
        yield from gather([self._asking(0.3, 3), self._asking(0.9, 1)])

    def _asking(self, seconds: float, count: int) -> Any:
        for _ in range(count):
            yield LLMRequest(
                "grade",
                self.agent.unique_id,
                self.agent.model.steps,
                system="",
                prompt=str(seconds),
                schema=None,
                inputs={"events": [("message", "Hello!")], "top": 5},
            )


class Embedder:
    """An embedder over the network, which takes a tenth of a second."""

    name = "remote:test"
    dim = 8

    def __init__(self) -> None:
        self.calls = 0

    def embed(self, texts: Any) -> np.ndarray:
        """Vectors that depend on the texts' letters."""
        self.calls += 1
        time.sleep(0.1)
        rows = [[1 + text.count(c) for c in "abcdefgh"] for text in texts]
        return np.array(rows, dtype=np.float32)


class Talker(LLMAgent):
    """Sees, reads its memory, speaks."""

    async def astep(self) -> None:
        """One observation, one read, one message."""
        self.memory.add_to_memory("observation", {"seen": f"Day {self.model.steps}."})
        self.memory.get_prompt_ready()
        others = [agent for agent in self.model.agents if agent is not self]
        friend = others[self.model.steps % len(others)]
        self.send_message(f"I am {self.unique_id}, day {self.model.steps}.", [friend])


class Town(mesa.Model):
    """Talkers in one event loop."""

    def __init__(self, n: int = 20) -> None:
        super().__init__(rng=1)
        self.embedder = Embedder()
        configure(self, llm="offline", embedder=self.embedder)
        quiet = register_policy("quiet", lambda turn: "")
        for _ in range(n):
            agent = Talker(self, CoTReasoning, quiet)
            agent.memory = EpisodicMemory(agent)

    def step(self) -> None:
        """All at once."""
        asyncio.run(self._astep())

    async def _astep(self) -> None:
        await asyncio.gather(*(agent.astep() for agent in self.agents))


def flows() -> float:
    """Seconds for the two flows."""
    model = mesa.Model(rng=1)
    configure(model, llm=Paced())
    name = register_policy("quiet", lambda turn: "")
    agent = LLMAgent(model, CoTReasoning, name)
    memory = agent.memory = Gathering(agent)
    memory.add_to_memory("message", {"message": "Hello!"})
    began = time.perf_counter()
    memory.process_step()
    Services.of(model).flush()
    return time.perf_counter() - began


def step(count: int = 10) -> tuple[float, float]:
    """Seconds and calls of the embedder for a step, on average."""
    town = Town()
    town.step()
    began, before = time.perf_counter(), town.embedder.calls
    for _ in range(count):
        town.step()
    Services.of(town).flush()
    seconds = time.perf_counter() - began
    return seconds / count, (town.embedder.calls - before) / count


def main() -> None:
    """Prints both, and says whether they are within their limits."""
    side, (seconds, calls) = flows(), step()
    print(f"three requests of 0.3 s beside one of 0.9 s: {side:.2f} s ({FLOWS_S})")
    print(f"a step of 20 agents: {seconds:.2f} s, {calls:.1f} calls ({STEP_S})")
    assert side <= FLOWS_S and seconds <= STEP_S


if __name__ == "__main__":
    main()
