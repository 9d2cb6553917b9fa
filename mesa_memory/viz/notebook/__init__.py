"""A recorded run in a notebook: an agent's memory, and a slider for the step.

from mesa_memory import open_run
from mesa_memory.viz.notebook import RunWidget, memory_at, recalls_at

run = open_run("run.sqlite")
RunWidget(run, agent=3)
"""

from mesa_memory.viz.notebook.shown import memory_at, recalls_at
from mesa_memory.viz.notebook.widget import RunWidget

__all__ = ["RunWidget", "memory_at", "recalls_at"]
