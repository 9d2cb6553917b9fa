"""Pages with running models whose memories do all that they can; for ``solara run``.

The models repeat themselves: a test makes the same one and knows what a page must say.
"""

import os
from typing import Any

import mesa
import solara
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    Budget,
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    ShortTermMemory,
    configure,
)
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz import MemoryViz
from tests.support import pages
from tests.support.mood import MoodMemory

# Mesa-LLM wants one for its own agents; nothing is sent with it.
os.environ.setdefault("OPENAI_API_KEY", "test")
BUDGET = Budget(calls=20_000, tokens=10_000_000)
#: the memory of agent n is the one at n modulo their number
KINDS = [
    LongTermMemory,
    lambda agent: EpisodicMemory(agent, reflect_threshold=6),
    lambda agent: ImpressionMemory(agent, update_every=1),
]


class Minds(RumorModel):
    """The town, whose people conclude, recall and judge each other in every step."""

    def __init__(self, rng: Any = 1, record: Any = True) -> None:
        super().__init__(n_agents=6, correction_step=4, rng=rng)
        configure(self, llm="offline", record=record, budget=BUDGET)
        for person in self.agents:
            person.memory = KINDS[person.unique_id % len(KINDS)](person)


class Others(mesa.Model):
    """Agents with our memory, with Mesa-LLM's own, and with none."""

    def __init__(
        self, ours: int = 1, theirs: int = 1, none: int = 1, **configured: Any
    ) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", **configured)
        for n in range(ours + theirs):
            agent = LLMAgent(self, CoTReasoning, "openai/none", api_base="http://x")
            if n < ours:
                agent.memory = ShortTermMemory(agent)
        for _ in range(none):
            mesa.Agent(self)

    def step(self) -> None:
        """Whoever can remember remembers rain."""
        for agent in self.agents:
            if getattr(agent, "memory", None) is not None:
                agent.memory.add_to_memory("observation", {"seen": "rain"})


class Moods(mesa.Model):
    """Two agents with a memory that is not ours; each step the bridge breaks."""

    def __init__(self, rng: Any = 1) -> None:
        super().__init__(rng=rng)
        configure(self, llm="offline")
        for _ in range(2):
            agent = mesa.Agent(self)
            agent.memory = MoodMemory(agent)

    def step(self) -> None:
        """Everyone hears of it, and reads its memory."""
        for agent in self.agents:
            said = {"message": "The bridge broke!", "sender": 2}
            agent.memory.add_to_memory("message", said)
            agent.memory.process_step()
            agent.memory.get_prompt_ready()


@solara.component
def Felt() -> Any:
    """A memory as a user writes one."""
    model = solara.use_memo(Moods, [])
    MemoryViz(model, name="Moods")


@solara.component
def Alive() -> Any:
    """All views have something to say."""
    model = solara.use_memo(Minds, [])
    MemoryViz(model, model_params={"rng": 1}, name="Minds")


def _page(**kinds: int) -> Any:
    @solara.component
    def Page() -> Any:
        model = solara.use_memo(lambda: Others(**kinds), [])
        MemoryViz(model, model_params=kinds, name="Others")

    return Page


routes = [
    *pages.routes,
    solara.Route("minds", component=Alive),
    solara.Route("moods", component=Felt),
    solara.Route("theirs", component=_page(ours=0, theirs=2, none=0)),
    solara.Route("none", component=_page(ours=0, theirs=0, none=2)),
    solara.Route("mixed", component=_page(ours=1, theirs=2, none=3)),
]
