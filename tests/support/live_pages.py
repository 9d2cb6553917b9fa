"""Pages with running models whose memories do all that they can; for ``solara run``.

The models repeat themselves: a test makes the same one and knows what a page must say.
"""

import os
from typing import Any

import mesa
import solara
from mesa.discrete_space import CellAgent, OrthogonalMooreGrid
from mesa.visualization import (
    Slider,
    SolaraViz,
    make_plot_component,
    make_space_component,
)
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    Budget,
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    ShortTermMemory,
    STLTMemory,
    configure,
    register_policy,
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


class Hearers(mesa.Model):
    """Agents who all hear the same in each step, and read their memory.

    Args:
        memory: makes a memory.
        texts: what is heard.
        n: how many agents.
        none: how many there are besides who have no memory at all.
    """

    def __init__(self, memory: Any, texts: tuple[str, ...], n: int, none: int = 0):
        super().__init__(rng=1)
        configure(self, llm="offline")
        self.texts = texts
        for _ in range(n):
            agent = mesa.Agent(self)
            agent.memory = memory(agent)
        for _ in range(none):
            mesa.Agent(self)

    def step(self) -> None:
        """Everyone hears everything."""
        for agent in self.agents:
            if not hasattr(agent, "memory"):
                continue
            for text in self.texts:
                agent.memory.add_to_memory("message", {"message": text, "sender": 2})
            agent.memory.process_step()
            agent.memory.get_prompt_ready()


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


class Sailor(LLMAgent, CellAgent):
    """Reads its memory in each step, and decides by it."""

    def __init__(self, model: "Ship", cell: Any, mood: float) -> None:
        super().__init__(model, CoTReasoning, model.words)
        self.cell, self.mood = cell, mood
        self.memory = STLTMemory(self)

    def step(self) -> None:
        """It sees the sea, and asks what to do."""
        self.memory.add_to_memory("observation", {"sea": f"wave {self.model.steps}"})
        reply = self.llm.generate(prompt=f"{self.memory.get_prompt_ready()}\nWhat now?")
        self.memory.add_to_memory("action", {"did": reply.choices[0].message.content})
        self.mood += self.model.drift


class Ship(mesa.Model):
    """A user's own model: a grid, a mood, decisions; nothing is said about a record."""

    def __init__(
        self, n_sailors: int = 3, drift: float = 0.0, rng: Any = 1, before: int = 0
    ) -> None:
        super().__init__(rng=rng)
        configure(self, llm="offline", outcomes=("mood",))
        self.words = register_policy("ship", lambda request: "I hoist the sail.")
        self.grid, self.drift = OrthogonalMooreGrid((4, 4), random=self.random), drift
        for cell in list(self.grid.all_cells)[:n_sailors]:
            Sailor(self, cell, 0.5)
        self.datacollector = mesa.DataCollector(
            {"mood": lambda model: sum(a.mood for a in model.agents)}
        )
        for _ in range(before):
            self.step()

    def step(self) -> None:
        """Everyone looks and decides."""
        self.agents.do("step")
        self.datacollector.collect(self)


def ship_page(**given: Any) -> Any:
    """An own model in Mesa's page, with the memories on a tab of their own."""

    @solara.component
    def Page() -> Any:
        model = solara.use_memo(lambda: Ship(**given), [])
        parts = solara.use_memo(
            lambda: [
                make_space_component(lambda agent: {"color": "tab:blue"}),
                make_plot_component("mood"),
                make_memory_component(page=1),
                make_plot_component("mood", page=2),
            ],
            [],
        )
        sailors = Slider("Sailors", value=3, min=1, max=5, step=1)
        SolaraViz(
            model, components=parts, model_params={"n_sailors": sailors, "rng": 1}
        )

    return Page


@solara.component
def Mesas() -> Any:
    """The dashboard in Mesa's own page, beside a plot."""
    model = solara.use_memo(lambda: RumorModel(**TOWN), [])
    parts = solara.use_memo(
        lambda: [make_memory_component(), make_plot_component("tokens", page=1)], []
    )
    SolaraViz(model, components=parts, model_params=TOWN)


def page_of(name: str, make: Any, **given: Any) -> Any:
    """A page of ours; its model is made anew with the arguments that are given."""

    @solara.component
    def Page() -> Any:
        model = solara.use_memo(lambda: make(**given), [])
        MemoryViz(model, model_params=given, name=name)

    return Page


TOWN = {"n_agents": 6, "rng": 1}
PAGES = {
    "/": Mesas,
    "ours": page_of("Town", RumorModel, **TOWN),
    "hostile": page_of(
        "Hostile", Hearers, memory=ShortTermMemory, texts=HOSTILE, n=3, none=1
    ),
    "minds": page_of("Minds", Minds, rng=1),
    "moods": page_of(
        "Moods", Hearers, memory=MoodMemory, texts=("The bridge broke!",), n=2
    ),
    "theirs": page_of("Others", Others, ours=0, theirs=2, none=0),
    "none": page_of("Others", Others, ours=0, theirs=0, none=2),
    "ship": ship_page(),
    "sailed": ship_page(before=6),
    "mixed": page_of("Others", Others, ours=1, theirs=2, none=3),
}
routes = [solara.Route(path, component=shown) for path, shown in PAGES.items()]
