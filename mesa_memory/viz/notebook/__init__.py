"""A recorded run in a notebook: an agent's memory and its recalls at a step.

from mesa_memory import open_run
from mesa_memory.viz.notebook import memory_at, recalls_at

run = open_run("run.sqlite")
memory_at(run, agent=3, step=12)
"""

from mesa_memory.viz.notebook.shown import memory_at, recalls_at

__all__ = ["memory_at", "recalls_at"]
