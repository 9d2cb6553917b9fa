"""Parts that views share: each a Solara component with a plain signature."""

from mesa_memory.viz.widgets.chart import Chart, Heatmap
from mesa_memory.viz.widgets.choosing import AgentPicker, Choose, Slide, TextBox
from mesa_memory.viz.widgets.passages import Passage, PassageMark, Passages
from mesa_memory.viz.widgets.saying import (
    Answer,
    Empty,
    Fact,
    Facts,
    Failure,
    Hint,
    Note,
    Section,
)
from mesa_memory.viz.widgets.table import HEADINGS, Table, named, prepared
from mesa_memory.viz.widgets.texts import Plain, TextBlock, Texts, long_text
from mesa_memory.viz.widgets.timeline import Timeline, counted, number

__all__ = [
    "HEADINGS",
    "AgentPicker",
    "Answer",
    "Chart",
    "Choose",
    "Empty",
    "Fact",
    "Facts",
    "Failure",
    "Heatmap",
    "Hint",
    "Note",
    "Passage",
    "PassageMark",
    "Passages",
    "Plain",
    "Section",
    "Slide",
    "Table",
    "TextBlock",
    "TextBox",
    "Texts",
    "Timeline",
    "counted",
    "long_text",
    "named",
    "number",
    "prepared",
]
