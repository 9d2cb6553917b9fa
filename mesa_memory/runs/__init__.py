"""Recorded runs, read: what was remembered when, why, and at what cost.

Nothing in the files of this folder writes to a store; ``recording/`` does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesa_memory.runs.opening import open_run
    from mesa_memory.runs.run import Run

__all__ = ["Run", "open_run"]


def __getattr__(name: str) -> Any:
    # a simulation that records needs nothing of what reads
    if name == "Run":
        from mesa_memory.runs.run import Run

        return Run
    if name == "open_run":
        from mesa_memory.runs.opening import open_run

        return open_run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
