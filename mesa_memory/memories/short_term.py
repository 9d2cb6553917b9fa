"""The last n steps, word for word."""

from typing import Any, Self, Unpack

from mesa_memory.core.validate import checked_int
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.entries import Entry, HeldSteps
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions


class ShortTermMemory(MemoryModule):
    """Keeps the last ``n`` steps in which something happened; needs no model.

    Args:
        agent: the agent that owns the memory.
        n: how many steps to keep, at least 1.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Attributes:
        short_term_memory: the entries kept, oldest first.

    Raises:
        ValueError: if n is below 1.
    """

    layer = "short_term"
    n = Delegate("_window", "How many steps are kept.", "capacity")
    short_term_memory = HeldSteps()

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Makes the window, so that an unfinished object is already sound."""
        self = super().__new__(cls, *args, **given)
        self._window = Window()
        self._window.join(self)
        self.layers = (self._window,)
        return self

    def __init__(
        self, agent: Any, n: int = 5, **options: Unpack[MemoryOptions]
    ) -> None:
        self._window.capacity = checked_int("n", n)
        super().__init__(agent, layers=[self._window], **options)

    @property
    def _current_step_entry(self) -> Entry | None:
        """While the agent steps, the events that had arrived before; Mesa-LLM's name."""
        waiting = self.journal.inbox.waiting()
        return Entry(self, self.now, waiting) if waiting else None
