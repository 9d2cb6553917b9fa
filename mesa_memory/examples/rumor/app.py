"""The town in the browser: ``solara run mesa_memory.examples.rumor.app``."""

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.examples.rumor.page import parameters, town_page

model = RumorModel(rng=42, record=True)
page = town_page(model, parameters(record=True))
