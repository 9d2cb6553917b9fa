"""One running summary of everything, updated each step."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.layers.entry import Entry, entry_snapshot, restored
from mesa_memory.layers.summary import RunningSummary
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import LONG_TERM, Delegate
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions
from mesa_memory.tasks import CONSOLIDATE


class LongTermMemory(MemoryModule):
    """A summary that takes up each step, at most one request a step.

    Args:
        agent: the agent that owns the memory.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Attributes:
        long_term_memory: the summary's text.
        buffer: the newest step's entry; while the agent steps, what had arrived
            before, with step None (as in Mesa-LLM).
        summary_chars: longest accepted summary.
    """

    layer = "long_term"
    own_task = CONSOLIDATE
    long_term_memory = LONG_TERM
    summary_chars = Delegate("_summary", "Longest accepted summary.")
    buffer = Delegate("_window", "The newest step's entry.", "newest")

    def __init__(self, agent: Any, **options: Unpack[MemoryOptions]) -> None:
        self._window = PendingWindow(None)
        self._summary = RunningSummary(self._window)
        super().__init__(agent, layers=[self._window, self._summary], **options)

    @property
    def system_prompt(self) -> str:
        """The summariser's instructions, with the agent's task of this moment."""
        return self.instructions(CONSOLIDATE, {})

    def format_long_term(self) -> str:
        """The summary; empty without one."""
        return self._summary.shown()

    def prompt_text(self) -> str:
        """The summary, and recent steps."""
        known, until = self.format_long_term(), self._summary.until
        return self.with_recent("long_term", known, until)

    def step_begins(self, now: float, waiting: Sequence[MemoryRecord]) -> None:
        """As in Mesa-LLM, events of the current step are in ``buffer``."""
        self._window.begin(now, waiting)

    def step_ends(self, now: float) -> None:
        """The buffer is of this step."""
        if self.buffer is not None and self.buffer.step is None:
            self.buffer.step = now


class PendingWindow(Window):
    """The steps that are not in the summary yet; remembers the newest of all.

    Attributes:
        newest: the entry of the newest step, also when the summary has it.
    """

    restored: tuple[str, ...] = (*Window.restored, "newest")
    newest: Any = None

    def begin(self, now: float, waiting: Sequence[MemoryRecord]) -> None:
        """Takes waiting events as the newest entry, of a step without a number."""
        self.newest = self.entry(now, waiting)
        self.newest.step = None

    def append(self, step: float, events: Sequence[MemoryRecord]) -> Entry:
        """See ``Window``."""
        self.newest = super().append(step, events)
        return self.newest

    def snapshot(self) -> dict[str, Any]:
        """See ``Window``; and the newest entry."""
        newest = self.newest and entry_snapshot(self.newest)
        return super().snapshot() | {"buffer": newest}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``Window``."""
        super().restore(snapshot, shelf)
        kept = snapshot["buffer"]
        self.newest = kept and restored(kept, self.context)
