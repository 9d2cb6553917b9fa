"""Recorded runs, read: memories at each step, their evidence, and their cost.

The files of this folder only read a store; ``recording/`` writes to one.
"""

from typing import TYPE_CHECKING, Any

from mesa_memory import exported

if TYPE_CHECKING:
    from mesa_memory.runs.run import Run, open_run

__all__ = ["Run", "open_run"]


def __getattr__(name: str) -> Any:
    # A simulation that records does not need the modules that read.
    return exported(__name__, dict.fromkeys(__all__, "runs.run"), name)
