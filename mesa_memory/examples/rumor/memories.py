"""The memories that can be compared, by name."""

from typing import Any

from mesa_memory import MemoryModule
from mesa_memory.memories import registry


class NoMemory(MemoryModule):
    """Knows what has arrived since the agent's last step, and then forgets it."""

    layer = "none"

    def get_communication_history(self) -> str:
        """Nothing is kept."""
        return ""


#: known here besides the memories of the package and of installed ones
OWN = {"none": NoMemory}


def names() -> tuple[str, ...]:
    """Names for ``make``: ``MEMORIES``, and those of installed packages."""
    return registry.names(OWN)


def check(name: str) -> None:
    """Raises an ``UnknownMemory`` unless the name leads to a memory; see ``make``."""
    registry.find(name, OWN)


def make(name: str, agent: Any) -> Any:
    """A memory for ``agent``.

    Args:
        name: one of ``names()``, or ``"module:class"``.

    Raises:
        UnknownMemory: a ``ValueError``; lists what there is.
    """
    return registry.find(name, OWN)(agent)
