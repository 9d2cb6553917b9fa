"""What impressions cost in a crowd: calls and prompt tokens for each agent and step.

    python -m benchmarks.impressions [--side 10] [--steps 60] [--warmup 20]

Agents stand on a square grid without edges. In each step each of them sees its eight
neighbours, in Mesa-LLM's form, and says something to one of them, chosen at random. There
is no model: tokens are counted at four characters each. The first row is how it was
before: everybody seen counted as an interaction, and each impression was a request of its
own. The steps before ``warmup`` are not counted, as nothing is due in the first ones.
"""

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import show
from mesa_memory import ImpressionMemory, Services, STLTMemory, configure
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.llm.doubles.offline import OfflineLLM

#: the most calls and prompt tokens for an agent and step
CALLS, TOKENS = 0.35, 500
SAYINGS = (
    "I sold {} fish at the market, thank you for your help.",
    "The bridge will be closed for {} days, be careful.",
    "You still owe me {} coins, that is not fair.",
    "My daughter sings in the choir on day {}, please come.",
)


class Counting:
    """The offline model, which counts from a step on what it is asked."""

    instant = True

    def __init__(self, warmup: int) -> None:
        self.warmup, self.calls, self.tokens = warmup, 0, 0
        self._model = OfflineLLM()

    def complete(self, request: LLMRequest) -> Reply:
        """The offline answer."""
        reply = self._model.complete(request)
        if request.step > self.warmup:
            self.calls += 1
            self.tokens += reply.prompt_tokens or 0
        return reply


class Neighbour(LLMAgent):
    """Sees those around it, and speaks to one of them."""

    def step(self) -> None:
        """One observation and one message."""
        near, day = self.model.near[self.unique_id], self.model.steps
        seen = {
            f"Neighbour {a.unique_id}": {
                "position": [a.unique_id // 10, a.unique_id % 10],
                "internal_state": [
                    "honest and a little shy, sells fish at the market by the river",
                    f"has {(3 * a.unique_id + day) % 7} fish and {day % 11} coins",
                ],
            }
            for a in near
        }
        state = {"agent_unique_id": self.unique_id, "day": day}
        self.memory.add_to_memory(
            "observation", {"self_state": state, "local_state": seen}
        )
        said = SAYINGS[(day + self.unique_id) % len(SAYINGS)].format(day % 9)
        self.send_message(said, [self.random.choice(near)])


class Crowd(mesa.Model):
    """A grid of agents, each beside eight others.

    Args:
        side: of the square, at least 3.
        memory: makes an agent's memory.
        llm: answers all requests.
    """

    def __init__(self, side: int, memory: Callable[[Any], Any], llm: Any) -> None:
        super().__init__(rng=42)
        configure(self, llm=llm)
        crowd = [Neighbour(self, CoTReasoning, "openai/test") for _ in range(side**2)]
        steps = (-1, 0, 1)
        self.near = {
            agent.unique_id: [
                crowd[(row + down) % side * side + (column + right) % side]
                for down in steps
                for right in steps
                if down or right
            ]
            for row in range(side)
            for column in range(side)
            for agent in [crowd[row * side + column]]
        }
        for agent in crowd:
            agent.memory = memory(agent)

    def step(self) -> None:
        """All agents in random order."""
        self.agents.shuffle_do("step")


def impressions(agent: Any, sights: bool, together: bool) -> ImpressionMemory:
    """A memory for which those seen count or not, and that asks for all or for each."""
    kinds = ("message", "observation") if sights else ("message",)
    memory = ImpressionMemory(agent, counts=kinds)
    if not together:
        memory.layers[1].most = 1  # type: ignore[attr-defined]
    return memory


MEMORIES: dict[str, Callable[[Any], Any]] = {
    "sights count, each alone (before)": partial(
        impressions, sights=True, together=False
    ),
    "sights count, together": partial(impressions, sights=True, together=True),
    "messages count, each alone": partial(impressions, sights=False, together=False),
    "messages count, together (now)": partial(impressions, sights=False, together=True),
    "a running summary (STLT)": STLTMemory,
}


def measure(
    memory: Callable[[Any], Any], side: int, steps: int, warmup: int
) -> tuple[float, float]:
    """Calls and prompt tokens for each agent and step."""
    llm = Counting(warmup)
    crowd = Crowd(side, memory, llm)
    for _ in range(steps):
        crowd.step()
    Services.of(crowd).flush()
    agent_steps = side**2 * (steps - warmup)
    return llm.calls / agent_steps, llm.tokens / agent_steps


def main() -> None:
    """Prints all, and says whether they are within their limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=20)
    given = parser.parse_args()
    rows = []
    for name, memory in MEMORIES.items():
        calls, tokens = measure(memory, given.side, given.steps, given.warmup)
        rows.append({"memory": name, "calls": calls, "prompt tokens": tokens})
    show("Impressions in a crowd, for each agent and step", rows, digits=3)
    now = rows[-2]
    print(f"limits: {CALLS} calls, {TOKENS} prompt tokens")
    assert now["calls"] <= CALLS and now["prompt tokens"] <= TOKENS


if __name__ == "__main__":
    main()
