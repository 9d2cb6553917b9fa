"""The last n steps, word for word."""

from collections.abc import Iterable, Sequence
from typing import Any

from mesa_memory.core.inbox import Group
from mesa_memory.core.validate import whole
from mesa_memory.memories.window import ShortTerm


class ShortTermMemory(ShortTerm):
    """Keeps the last ``n`` steps in which something happened; needs no model.

    Args:
        agent: the agent that owns the memory.
        n: how many steps to keep, at least 1.
        display, additive_event_types: see ``MemoryModule``.
        **limits: ``event_chars``, ``section_chars``, ``history_capacity`` of
            ``MemoryModule``.

    Attributes:
        short_term_memory: the entries kept, oldest first.

    Raises:
        ValueError: if n is below 1.
    """

    layer = "short_term"

    def __init__(
        self,
        agent: Any,
        n: int = 5,
        display: bool = False,
        additive_event_types: Iterable[str] | None = None,
        **limits: Any,
    ) -> None:
        self.n = whole("n", n)
        super().__init__(
            agent=agent,
            display=display,
            additive_event_types=additive_event_types,
            **limits,
        )

    def _admit(self, groups: Sequence[Group]) -> None:
        super()._admit(groups)
        self._keep(self.n)
