"""The model that tests and benchmarks share: agents on a ring that see, speak and act.

Each agent makes one observation, sends one message to a neighbour and acts once per
step. Nothing reasons, so every request to the server is a memory's.
"""

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent

from tests.support.single import settle


class Citizen(LLMAgent):
    """Sees its neighbours, greets the next one, and walks."""

    def step(self) -> None:
        """One observation, one message, one action."""
        near, now = self.model.neighbours(self), self.model.steps
        self.memory.add_to_memory("observation", self.sight(near, now))
        self.send_message(self.saying(now), near[:1])
        self.memory.add_to_memory("action", self.deed(now))

    def sight(self, near: list[LLMAgent], now: int) -> dict[str, Any]:
        """What it sees."""
        return {
            "self_state": {"agent_unique_id": self.unique_id, "day": now},
            "local_state": {f"Citizen {a.unique_id}": {"mood": "ok"} for a in near},
        }

    def saying(self, now: int) -> str:
        """What it says."""
        return f"On day {now} I sold {now % 7} fish."

    def deed(self, now: int) -> dict[str, Any]:
        """What it does."""
        return {"tool_calls": [{"name": "walk", "response": f"went {now % 4}"}]}


class Town(mesa.Model):
    """A ring of citizens.

    Args:
        n: how many agents.
        memory: makes an agent's memory.
        api_base: where the local server listens; None for memories without a model.
        setup: called with the model before the agents are made.
        citizen: class of the agents.
    """

    def __init__(
        self,
        n: int,
        memory: Callable[[Any], Any],
        api_base: str | None = None,
        setup: Callable[[mesa.Model], Any] | None = None,
        citizen: type = Citizen,
    ) -> None:
        super().__init__(rng=42)
        if setup:
            setup(self)
        name = "openai/local"
        self.citizens = settle(self, memory, n, citizen, name, api_base=api_base)

    def neighbours(self, agent: LLMAgent) -> list[LLMAgent]:
        """The next and the previous agent on the ring."""
        position = agent.unique_id - 1
        count = len(self.citizens)
        return [
            self.citizens[(position + 1) % count],
            self.citizens[(position - 1) % count],
        ]

    def step(self) -> None:
        """All agents in random order."""
        self.agents.shuffle_do("step")
