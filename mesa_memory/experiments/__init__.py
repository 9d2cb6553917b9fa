"""Studies: many runs of a model, with memory as a factor, on one machine or many."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesa_memory.experiments.studies.processes import Processes
    from mesa_memory.experiments.studies.study import Study

__all__ = ["Processes", "Study"]

_PLACES = {"Processes": "studies.processes", "Study": "studies.study"}


def __getattr__(name: str) -> Any:
    # a worker that makes one run needs nothing of what plans them
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
