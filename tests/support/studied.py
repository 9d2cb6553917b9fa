"""A small street with memories, as a study runs it: at the top of a module, so that
workers can load it."""

import os

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import ShortTermMemory, configure
from mesa_memory.memories import registry


class Walker(LLMAgent):
    """Sees a number each day, and remembers it."""

    def step(self):
        seen = {"view": f"number {self.model.random.randrange(1000)}"}
        self.memory.add_to_memory("observation", seen)
        self.wealth += self.random.randrange(3)


class Street(mesa.Model):
    """Walkers; it knows nothing of studies and records.

    Args:
        n: how many.
        bad: raises at step 2, if the seed is this.
    """

    def __init__(self, n=2, memory="short_term", bad=None, stop=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.bad, self.stop, self.seeded = bad, stop, rng
        for _ in range(n):
            walker = Walker(self, CoTReasoning, "openai/test")
            walker.wealth = 0
            walker.memory = registry.find(memory)(walker)
        reporters = {"wealth": "wealth"}
        self.datacollector = mesa.DataCollector(
            {"total": lambda model: sum(model.agents.get("wealth"))}, reporters
        )
        self.datacollector.collect(self)

    def step(self):
        if self.steps == 2 and self.bad is not None and self.seeded == self.bad:
            raise ZeroDivisionError("a bad day")
        self.agents.do("step")
        self.datacollector.collect(self)
        self.running = self.steps != self.stop

    def get_state(self):
        return {"wealth": [a.wealth for a in self.agents]}

    def set_state(self, state):
        for walker, wealth in zip(self.agents, state["wealth"]):
            walker.wealth = wealth


class Plain(mesa.Model):
    """A model without memories, seeds, or anything else of this package."""

    def __init__(self, width=3, seed=None):
        super().__init__(seed=seed)
        self.width, self.drawn = width, 0

    def step(self):
        self.drawn = self.random.randrange(self.width * 1000)


class Forgetful(ShortTermMemory):
    """Remembers one step."""

    def __init__(self, agent):
        super().__init__(agent, n=1)


def remembered(model):
    """How many events all walkers hold."""
    return sum(len(walker.memory.short_term_memory) for walker in model.agents)
