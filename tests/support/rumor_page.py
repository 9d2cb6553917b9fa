"""A small town in Mesa's own page, with the dashboard and a plot; for ``solara run``."""

from mesa.visualization import SolaraViz, make_plot_component

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz import make_memory_component

page = SolaraViz(
    RumorModel(n_agents=6, rng=1),
    components=[make_memory_component(), make_plot_component("tokens", page=1)],
    model_params={"n_agents": 6, "rng": 1},
    name="Town",
)
