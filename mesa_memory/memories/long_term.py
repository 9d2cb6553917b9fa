"""One running summary of everything, updated each step."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.hosts.mesa_llm import MemoryEntry
from mesa_memory.layers.lines import StepEvents
from mesa_memory.layers.summary import RunningSummary
from mesa_memory.layers.view import StepView
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import LONG_TERM, Delegate
from mesa_memory.memories.host.entries import Entry, StepEntries
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
        return self._summary.shown(self.view())

    def prompt_text(self) -> str:
        """The summary, and recent steps; it says if nothing has happened since."""
        known, until = self.format_long_term(), self._summary.until
        recent = self.under("short_term", self.format_short_term())
        return (
            f"{self.under('long_term', known, until)}\n\n{recent}" if known else recent
        )

    @property
    def buffer(self) -> Entry | None:
        """The newest step's entry; one that is set goes into the next summary."""
        if waiting := self.journal.inbox.waiting():
            return Entry(self, None, waiting)
        newest = self._window.newest
        return Entry(self, newest.step, newest.events) if newest else None

    @buffer.setter
    def buffer(self, entry: MemoryEntry | None) -> None:
        if entry is not None:
            StepEntries(self, self._window).append(entry)
        self._window.newest = None if entry is None else self._window.held[-1]


class PendingWindow(Window):
    """The steps that are not in the summary yet; remembers the newest of all.

    Attributes:
        newest: the newest step, also when the summary has it.
    """

    restored: tuple[str, ...] = (*Window.restored, "newest")
    newest: StepEvents | None = None

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """See ``Window``."""
        super().admit(view, step, events)
        self.newest = self.held[-1]

    def snapshot(self) -> dict[str, Any]:
        """See ``Window``; and the newest step."""
        newest = self.newest and (self.newest.step, self.newest.events)
        return super().snapshot() | {"buffer": newest}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``Window``."""
        super().restore(snapshot, shelf)
        newest = snapshot["buffer"]
        self.newest = newest and StepEvents(*newest)
