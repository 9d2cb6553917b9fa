"""Recorded runs, read: memories at each step, their evidence, and their cost.

The files of this folder only read a store; ``recording/`` writes to one.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesa_memory.runs.run import Run, open_run

__all__ = ["Run", "open_run"]


def __getattr__(name: str) -> Any:
    # A simulation that records does not need the modules that read.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import mesa_memory.runs.run as run

    return getattr(run, name)
