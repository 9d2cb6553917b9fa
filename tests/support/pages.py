"""Pages with models of every kind; for ``solara run``."""

from typing import Any

import mesa
import solara
from mesa.visualization import SolaraViz, make_plot_component

from mesa_memory import ShortTermMemory, configure
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz import MemoryViz, make_memory_component

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


routes = [
    solara.Route("/", component=Mesas),
    solara.Route("ours", component=Ours),
    solara.Route("hostile", component=Harmful),
]
