"""Recent steps word for word, older ones in a running summary."""

from typing import Any, Unpack

from mesa_memory.core.validate import checked_int
from mesa_memory.layers import consolidation as policies
from mesa_memory.layers.consolidation import Consolidation, Policy
from mesa_memory.layers.summary import RunningSummary
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import LONG_TERM, Delegate
from mesa_memory.memories.host.entries import HeldSteps
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions
from mesa_memory.tasks import CONSOLIDATE


class STLTMemory(MemoryModule):
    """Short-term and long-term memory with consolidation.

    Args:
        agent: the agent that owns the memory.
        short_term_capacity: how many steps to keep word for word, at least 1.
        consolidation_capacity: how many go into the summary at a time; 0 drops the
            oldest without a summary.
        consolidation: a policy in place of ``EveryBatch(consolidation_capacity)``,
            such as ``OverTokens(1500, keep_last=4)`` or ``FrontHalf(20, 0.5)``.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Attributes:
        short_term_memory: the entries kept, oldest first; while the agent steps, also
            an entry of earlier arrivals.
        long_term_memory: the summary's text.
        capacity, consolidation_capacity: as given; may be changed.
        summary_chars: longest accepted summary.

    Raises:
        ValueError: for a wrong capacity or policy.
    """

    layer = "stlt"
    own_task = CONSOLIDATE
    short_term_memory, long_term_memory = HeldSteps(waiting=True), LONG_TERM
    capacity = Delegate("_due", "How many steps to keep word for word.")
    consolidation_capacity = Delegate("_due", "How many go at a time, or None.", "size")
    summary_chars = Delegate("_summary", "Longest accepted summary.")

    def __init__(
        self,
        agent: Any,
        short_term_capacity: int = 5,
        consolidation_capacity: int = 2,
        *,
        consolidation: Policy | None = None,
        **options: Unpack[MemoryOptions],
    ) -> None:
        capacity = checked_int("short_term_capacity", short_term_capacity)
        if consolidation_capacity != 0:
            checked_int("consolidation_capacity", consolidation_capacity)
        policy = None if consolidation is None else policies.check(consolidation)
        self._due = Consolidation(capacity, consolidation_capacity or None, policy)
        self._window = Window(None)
        self._summary = RunningSummary(self._window, self._due)
        super().__init__(agent, layers=[self._window, self._summary], **options)

    @property
    def system_prompt(self) -> str:
        """The summariser's instructions, with the agent's task of this moment."""
        return self.instructions(CONSOLIDATE, {})

    def format_long_term(self) -> str:
        """The summary; empty without one."""
        return self._summary.shown(self.view())

    def prompt_text(self) -> str:
        """Both sections as prompt text, in the order of Mesa-LLM: the older one last.

        A memory that is wholly empty has both headings, as Mesa-LLM's has.
        """
        steps, known = self.format_short_term(), self.format_long_term()
        nothing = self.view().told("nothing recent")
        recent = self.under("short_term", steps)
        if not known and steps != nothing:
            return recent
        older = self.under("long_term", known or nothing, self._summary.until)
        return f"{recent}\n\n{older}"
