"""The town's page: its memories, the town itself, and how the two stories spread."""

from typing import Any

import networkx as nx
import solara
from mesa.visualization import Slider, make_plot_component, make_space_component
from mesa.visualization.components import AgentPortrayalStyle

from mesa_memory.examples.rumor.agents import Townsperson
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR
from mesa_memory.examples.rumor.memories import OWN
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.memories import registry
from mesa_memory.viz import MemoryViz
from mesa_memory.viz.widgets import chart
from mesa_memory.viz.widgets.stage import NEUTRAL

# As in the dashboard, which numbers beliefs in the order in which they come up.
COLOURS = {RUMOUR: chart.COLOURS[0], CORRECTION: chart.COLOURS[1], None: NEUTRAL}
MARKERS = {RUMOUR: "o", CORRECTION: "^", None: "o"}
SIZES = {RUMOUR: 120, CORRECTION: 120, None: 60}


@solara.component
def town_page(town: RumorModel, given: dict[str, Any]) -> Any:
    """The dashboard, with the town and its curves on a second tab.

    Args:
        town: the model to begin with; all windows show the same one. Reset plays as many
            days with the next one, unless that costs something.
        given: from ``parameters``.
    """
    parts = solara.use_memo(_parts, [])
    free = given.get("llm", "offline") == "offline"
    MemoryViz(town, parts, model_params=given, repeat=free)


def parameters(
    n_agents: int = 30, memory: str = "stlt", rng: int = 42, **fixed: Any
) -> dict[str, Any]:
    """The choices before Reset makes another town.

    Args:
        n_agents, memory, rng: what is chosen at first.
        **fixed: other arguments of every town, such as ``record``.
    """
    most = max(100, n_agents), max(100, rng)
    return {
        "rng": Slider("Random seed", value=rng, min=0, max=most[1], step=1),
        "memory": {
            "type": "Select",
            "label": "Memory",
            "value": memory,
            "values": list(dict.fromkeys([*registry.names(OWN), memory])),
        },
        "n_agents": Slider("People", value=n_agents, min=3, max=most[0], step=1),
        "degree": Slider("Neighbours per person", value=4, min=2, max=8, step=2),
        "correction_step": Slider(
            "Day of the correction", value=10, min=2, max=40, step=1
        ),
        **fixed,
    }


def portrayal(agent: Townsperson) -> AgentPortrayalStyle:
    """A circle believes the rumour, a triangle the correction, a small circle neither."""
    belief = agent.model.opinions[agent.unique_id].belief
    return AgentPortrayalStyle(
        color=COLOURS[belief], marker=MARKERS[belief], size=SIZES[belief]
    )


def _parts() -> list[Any]:
    people = {
        "knows_rumour": "#56B4E9",
        "believes_rumour": COLOURS[RUMOUR],
        "knows_correction": "#F0E442",
        "believes_correction": COLOURS[CORRECTION],
    }
    return [
        make_space_component(
            portrayal, layout_alg=nx.circular_layout, layout_kwargs={}
        ),
        make_plot_component(people),
        make_plot_component("tokens"),
    ]
