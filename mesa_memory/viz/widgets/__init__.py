"""Parts that views share: each a Solara component with a plain signature."""

from mesa_memory.viz.widgets.chart import Chart
from mesa_memory.viz.widgets.choosing import AgentPicker, Choose, SearchBox
from mesa_memory.viz.widgets.heatmap import Heatmap
from mesa_memory.viz.widgets.saying import Empty, Fact, Failure, Note, Plain, Section
from mesa_memory.viz.widgets.table import Column, Table
from mesa_memory.viz.widgets.timeline import Timeline

__all__ = [
    "AgentPicker",
    "Chart",
    "Choose",
    "Column",
    "Empty",
    "Fact",
    "Failure",
    "Heatmap",
    "Note",
    "Plain",
    "SearchBox",
    "Section",
    "Table",
    "Timeline",
]
