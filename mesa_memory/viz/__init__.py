"""The dashboard: watch memories evolve, step by step, in the browser.

    from mesa_memory.viz import MemoryViz, make_memory_component

Everything here reads what a recorder wrote; nothing changes a memory.
"""

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any


def _check_front_end() -> None:
    """Raises ImportError if the front end is not the one of Mesa's pages."""
    for package in ("ipyvue", "ipyvuetify"):
        found = version(package)
        if int(found.partition(".")[0]) > 1:
            raise ImportError(
                f"{package} {found} brings Vue 3, with which Mesa's pages stay empty. "
                "Install the older one: pip install 'ipyvuetify>=1.11,<2' 'ipyvue<2'"
            )


_check_front_end()
# Else every picture of Mesa's, after each step, walks through all data of all views.
os.environ.setdefault("REACTON_FAST", "1")

if TYPE_CHECKING:
    from mesa_memory.viz.app import MemoryViz, make_memory_component

__all__ = ["MemoryViz", "make_memory_component"]


def __getattr__(name: str) -> Any:
    # Mesa's pages bring matplotlib; recorded runs are shown without it, and sooner.
    if name in __all__:
        from mesa_memory.viz import app

        return getattr(app, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
