"""The dashboard: watch memories evolve, step by step, in the browser.

    from mesa_memory.viz import MemoryViz, make_memory_component

Everything here reads what a recorder wrote; nothing changes a memory.
"""

from importlib.metadata import version


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

from mesa_memory.viz.app import MemoryViz, make_memory_component  # noqa: E402

__all__ = ["MemoryViz", "make_memory_component"]
