"""Pages with running models whose memories do all that they can; for ``solara run``.

The models repeat themselves: a test makes the same one and knows what a page must say.
"""

import os
from typing import Any

import mesa
import solara
from mesa.visualization import SolaraViz, make_plot_component
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
from mesa_memory.viz import MemoryViz, make_memory_component
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


HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "[click](javascript:alert(3))",
    "{{constructor.constructor('alert(4)')()}}",
    '=HYPERLINK("http://example.invalid","x")',
    "</pre><svg onload=alert(5)>",
)


class Hostile(mesa.Model):
    """Agents that say what should harm a page; one agent has no memory at all."""

    def __init__(self, rng: Any = None) -> None:
        super().__init__(rng=rng)
        configure(self, llm="offline")
        for _ in range(3):
            agent = mesa.Agent(self)
            agent.memory = ShortTermMemory(agent)
        mesa.Agent(self)

    def step(self) -> None:
        """Everyone hears everything, and reads its memory."""
        for agent in list(self.agents)[:3]:
            for text in HOSTILE:
                agent.memory.add_to_memory("message", {"message": text, "sender": 2})
            agent.memory.process_step()
            agent.memory.get_prompt_ready()


@solara.component
def Mesas() -> Any:
    """The dashboard in Mesa's own page, beside a plot."""
    model = solara.use_memo(lambda: RumorModel(n_agents=6, rng=1), [])
    parts = solara.use_memo(
        lambda: [make_memory_component(), make_plot_component("tokens", page=1)], []
    )
    SolaraViz(model, components=parts, model_params={"n_agents": 6, "rng": 1})


@solara.component
def Ours() -> Any:
    """The ready page."""
    model = solara.use_memo(lambda: RumorModel(n_agents=6, rng=1), [])
    MemoryViz(model, model_params={"n_agents": 6, "rng": 1}, name="Town")


@solara.component
def Harmful() -> Any:
    """What hostile agents say."""
    model = solara.use_memo(lambda: Hostile(rng=1), [])
    MemoryViz(model, name="Hostile")


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
    solara.Route("/", component=Mesas),
    solara.Route("ours", component=Ours),
    solara.Route("hostile", component=Harmful),
    solara.Route("minds", component=Alive),
    solara.Route("moods", component=Felt),
    solara.Route("theirs", component=_page(ours=0, theirs=2, none=0)),
    solara.Route("none", component=_page(ours=0, theirs=0, none=2)),
    solara.Route("mixed", component=_page(ours=1, theirs=2, none=3)),
]
