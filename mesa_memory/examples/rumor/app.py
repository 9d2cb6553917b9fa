"""The town in the browser: ``solara run`` with this file."""

import networkx as nx
from mesa.visualization import (
    Slider,
    SolaraViz,
    make_plot_component,
    make_space_component,
)
from mesa.visualization.components import AgentPortrayalStyle

from mesa_memory.examples.rumor import MEMORIES
from mesa_memory.examples.rumor.agents import Townsperson
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz import make_memory_component

# Okabe and Ito's colours; the marker says the same without colour.
COLOURS = {RUMOUR: "#D55E00", CORRECTION: "#0072B2", None: "#BBBBBB"}
MARKERS = {RUMOUR: "^", CORRECTION: "s", None: "o"}


def portrayal(agent: Townsperson) -> AgentPortrayalStyle:
    """A triangle believes the rumour, a square the correction, a circle neither."""
    belief = agent.model.opinions[agent.unique_id].belief
    return AgentPortrayalStyle(color=COLOURS[belief], marker=MARKERS[belief], size=120)


model_params = {
    "rng": Slider("Random seed", value=42, min=0, max=100, step=1),
    "memory": {
        "type": "Select",
        "label": "Memory",
        "value": "stlt",
        "values": list(MEMORIES),
    },
    "n_agents": Slider("People", value=30, min=10, max=100, step=1),
    "degree": Slider("Neighbours", value=4, min=2, max=8, step=2),
    "correction_step": Slider("Correction comes", value=10, min=1, max=40, step=1),
}

model = RumorModel(rng=42)
page = SolaraViz(
    model,
    components=[
        make_space_component(
            portrayal, layout_alg=nx.circular_layout, layout_kwargs={}
        ),
        make_plot_component(
            {
                "knows_rumour": "#E69F00",
                "believes_rumour": COLOURS[RUMOUR],
                "knows_correction": "#56B4E9",
                "believes_correction": COLOURS[CORRECTION],
            }
        ),
        make_plot_component("tokens"),
        make_memory_component(page=1),
    ],
    model_params=model_params,
    name="Rumour",
)
page  # noqa: B018
