"""An embedder over the network is not asked in the event loop of the agents."""

import asyncio
import threading

import mesa
import numpy as np
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, Services, configure, register_policy


class Remote:
    """Notes who asks, and how often."""

    name, dim = "remote:test", 8

    def __init__(self):
        self.calls, self.threads = [], set()

    def embed(self, texts):
        self.threads.add(threading.current_thread())
        self.calls.append(list(texts))
        rows = [[1 + text.count(c) for c in "abcdefgh"] for text in texts]
        return np.array(rows, dtype=np.float32)


class Talker(LLMAgent):
    async def astep(self):
        seen = {"seen": f"{self.unique_id} sees day {self.model.steps}."}
        await self.memory.aadd_to_memory("observation", seen)
        self.model.shown.append(self.memory.get_prompt_ready())


class Town(mesa.Model):
    def __init__(self, n=20, rng=None):
        super().__init__(rng=rng)
        self.remote, self.shown = Remote(), []
        configure(self, llm="offline", embedder=self.remote)
        for _ in range(n):
            agent = Talker(self, CoTReasoning, register_policy("mute", lambda turn: ""))
            agent.memory = EpisodicMemory(agent)

    def step(self):
        asyncio.run(self.talk())

    async def talk(self):
        await asyncio.gather(*(agent.astep() for agent in self.agents))


def test_agents_in_an_event_loop_embed_together_and_elsewhere():
    town = Town(rng=1)
    for _ in range(3):
        town.step()
    Services.of(town).flush()
    assert threading.current_thread() not in town.remote.threads
    texts = [text for call in town.remote.calls for text in call]
    assert len(texts) >= 3 * 20
    assert max(map(len, town.remote.calls)) > 1
    assert len(town.remote.calls) < len(texts) / 2
    assert all("sees day" in shown for shown in town.shown)
