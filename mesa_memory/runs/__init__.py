"""Recorded runs, read: what was remembered when, why, and at what cost.

Nothing here writes to a store.
"""

from mesa_memory.runs.opening import open_run
from mesa_memory.runs.run import Run

__all__ = ["Run", "open_run"]
