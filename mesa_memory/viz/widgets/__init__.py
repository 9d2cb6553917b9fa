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
    Fold,
    Hint,
    LongText,
    Note,
    Plain,
    Section,
)
from mesa_memory.viz.widgets.table import Table
from mesa_memory.viz.widgets.timeline import Timeline, number

__all__ = [
    "AgentPicker",
    "Answer",
    "Chart",
    "Choose",
    "Empty",
    "Fact",
    "Facts",
    "Failure",
    "Fold",
    "Heatmap",
    "Hint",
    "LongText",
    "Note",
    "Passage",
    "PassageMark",
    "Passages",
    "Plain",
    "Section",
    "Slide",
    "Table",
    "TextBox",
    "Timeline",
    "number",
]
