"""A recorded run in a notebook: what an agent remembered, and a slider through time.

from mesa_memory import open_run
from mesa_memory.viz.notebook import RunWidget, memory_at, recalls_at

run = open_run("run.sqlite")
RunWidget(run, agent=3)
"""

from typing import TYPE_CHECKING, Any

from mesa_memory.viz.notebook.shown import Shown, memory_at, recalls_at

if TYPE_CHECKING:
    from mesa_memory.viz.notebook.widget import RunWidget

__all__ = ["RunWidget", "Shown", "memory_at", "recalls_at"]


def __getattr__(name: str) -> Any:
    # the texts are shown without what makes widgets
    if name == "RunWidget":
        from mesa_memory.viz.notebook.widget import RunWidget

        return RunWidget
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
