"""The memories that can be compared, by name."""

from collections.abc import Callable
from typing import Any

from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    MemoryModule,
    ShortTermMemory,
    STLTMemory,
)


class NoMemory(MemoryModule):
    """Knows what has arrived since the agent's last step, and then forgets it."""

    layer = "none"

    def get_communication_history(self) -> str:
        """Nothing is kept."""
        return ""


_CLASSES: dict[str, Callable[[Any], MemoryModule]] = {
    "short_term": ShortTermMemory,
    "stlt": STLTMemory,
    "long_term": LongTermMemory,
    "episodic": EpisodicMemory,
    "impression": ImpressionMemory,
    "none": NoMemory,
}


def make(name: str, agent: Any) -> MemoryModule:
    """A memory for ``agent``.

    Raises:
        ValueError: for an unknown name.
    """
    if name not in _CLASSES:
        raise ValueError(f"memory must be one of {list(_CLASSES)}, got {name!r}")
    return _CLASSES[name](agent)
