"""Recorded runs, read: memories at each step, their evidence, and their cost.

The files of this folder only read a store; ``recording/`` writes to one.
"""

from mesa_memory.runs.run import Run, open_run

__all__ = ["Run", "open_run"]
