"""Recent steps word for word, older ones in a running summary."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core import render
from mesa_memory.core.inbox import Group
from mesa_memory.core.requests import Flow
from mesa_memory.core.validate import whole
from mesa_memory.memories import consolidation as policies
from mesa_memory.memories.consolidation import EveryBatch, Policy
from mesa_memory.memories.entry import Entry
from mesa_memory.memories.summary import Summarizing
from mesa_memory.memories.window import ShortTerm


class STLTMemory(Summarizing, ShortTerm):
    """Short-term and long-term memory with consolidation.

    Args:
        agent: the agent that owns the memory.
        short_term_capacity: how many steps to keep word for word, at least 1.
        consolidation_capacity: how many go into the summary at a time; 0 drops the
            oldest without a summary.
        display, llm_model, api_base, additive_event_types: see ``MemoryModule``.
        consolidation: a policy in place of ``EveryBatch(consolidation_capacity)``,
            such as ``OverTokens(1500, keep_last=4)`` or ``FrontHalf(20, 0.5)``.
        **limits: ``event_chars``, ``section_chars``, ``history_capacity`` of
            ``MemoryModule``.

    Attributes:
        short_term_memory: the entries kept, oldest first; while the agent steps, also
            one of what had arrived before.
        long_term_memory: the summary's text.
        capacity, consolidation_capacity: as given; may be changed.

    Raises:
        ValueError: for a wrong capacity or policy.
    """

    layer = "stlt"
    _before_step: Entry | None = None

    def __init__(
        self,
        agent: Any,
        short_term_capacity: int = 5,
        consolidation_capacity: int = 2,
        display: bool = False,
        llm_model: str | None = None,
        api_base: str | None = None,
        additive_event_types: Iterable[str] | None = None,
        *,
        consolidation: Policy | None = None,
        **limits: int,
    ) -> None:
        self.capacity = whole("short_term_capacity", short_term_capacity)
        if consolidation_capacity != 0:
            whole("consolidation_capacity", consolidation_capacity)
        self.consolidation_capacity = consolidation_capacity or None
        self._own_policy = (
            None if consolidation is None else policies.check(consolidation)
        )
        super().__init__(
            agent,
            llm_model,
            display,
            api_base,
            additive_event_types,
            **limits,
        )

    def remember(self) -> Flow[None]:
        """Consolidates the oldest entries that the policy says are due."""
        policy = self._policy()
        if policy is None:
            self._keep(max(0, self.capacity))
            return
        while due := policy.due(self._sizes(), self.capacity) or self._unseen():
            yield from self._fold(due)

    def get_prompt_ready(self) -> str:
        """Both sections as prompt text."""
        return (
            f"Short term memory:\n{self.format_short_term()}\n\n"
            f"Long term memory:\n{self.format_long_term()}"
        )

    def _unseen(self) -> int:
        """How many of the oldest entries the next step will push out of the section.

        That step is taken to be as long as the newest one.
        """
        held, half = self._window, self.section_chars // 2
        if held and isinstance(held[-1], Entry) and self._chars(held[-1]) > half:
            self._split(held[-1], -half)
        chars = [self._chars(entry) for entry in held]
        room = self.section_chars - min(half, chars[-1] if chars else 0)
        used = 0
        for count in range(len(chars), 0, -1):
            used += chars[count - 1]
            if used > room and count < len(chars):
                return count
        return 0

    def _chars(self, entry: MemoryEntry) -> int:
        """About the length of an entry's text."""
        events = len(entry.events) if isinstance(entry, Entry) else 1
        return 4 * self._size(entry) + len("Step 100:\n") + len("- ") * events

    def _policy(self) -> Policy | None:
        """The policy of this moment; None drops what is over capacity."""
        if self._own_policy is not None:
            return self._own_policy
        size = self.consolidation_capacity
        return EveryBatch(size) if size else None

    def _sizes(self) -> list[int]:
        return [self._size(entry) for entry in self._window]

    def _size(self, entry: MemoryEntry) -> int:
        """Tokens of an entry; an own entry does not change, so it is counted once."""
        known = getattr(entry, "size", None)
        if known is not None:
            return known
        lengths = self._line_lengths(entry)
        size = render.tokens_of(sum(lengths) + max(0, len(lengths) - 1))
        if isinstance(entry, Entry):
            entry.size = size
        return size

    def _freeze(self, now: float) -> None:
        """As in Mesa-LLM, what waits for the step is seen in ``short_term_memory``."""
        self._thaw()
        waiting = self._staging.freeze(now)
        if waiting:
            self._before_step = self._entry(now, waiting)
            self._window.append(self._before_step)

    def _thaw(self) -> None:
        if self._before_step is not None:
            self._window = deque(self._entries())
            self._before_step = None

    def _commit(self, now: float) -> None:
        self._thaw()
        super()._commit(now)

    def _entries(self) -> list[MemoryEntry]:
        return [e for e in self._window if e is not self._before_step]

    def _admit(self, groups: Sequence[Group]) -> None:
        for entry in self._window:
            if entry.step is None:  # put there by hand, in Mesa-LLM's manner
                entry.step = self._now()  # type: ignore[assignment]
        super()._admit(groups)
