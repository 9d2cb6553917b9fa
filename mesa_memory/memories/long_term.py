"""One running summary of everything, updated each step."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.memories.entry import Entry, entry_snapshot
from mesa_memory.memories.summary import Summarizing


class LongTermMemory(Summarizing):
    """A summary that takes up each step, at most one request a step.

    Args:
        agent: the agent that owns the memory.
        display, llm_model, api_base, additive_event_types: see ``MemoryModule``.
        **limits: ``event_chars``, ``section_chars``, ``history_capacity`` of
            ``MemoryModule``.

    Attributes:
        long_term_memory: the summary's text.
        buffer: the newest step's entry; while the agent steps, what had arrived
            before, with step None (as in Mesa-LLM).
    """

    layer = "long_term"

    def __init__(
        self,
        agent: Any,
        display: bool = False,
        llm_model: str | None = None,
        api_base: str | None = None,
        additive_event_types: Iterable[str] | None = None,
        **limits: int,
    ) -> None:
        super().__init__(
            agent,
            llm_model,
            display,
            api_base,
            additive_event_types,
            **limits,
        )
        self.buffer: MemoryEntry | None = None

    def remember(self) -> Flow[None]:
        """Folds what is not yet in the summary into it."""
        while self._window:
            yield from self._fold(len(self._window))

    def get_prompt_ready(self) -> str:
        """The summary, and what has happened since."""
        return (
            f"Long term memory:\n{self.format_long_term()}\n\n"
            f"Short term memory:\n{self.format_short_term()}"
        )

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; the buffer."""
        buffer = self.buffer and entry_snapshot(self.buffer)
        return super().snapshot() | {"buffer": buffer}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        kept = snapshot["buffer"]
        self.buffer = kept and self._entry_from(kept)

    def _freeze(self, now: float) -> None:
        waiting = self._staging.freeze(now)
        self.buffer = self._entry(now, waiting)
        self.buffer.step = None  # type: ignore[assignment]

    def _commit(self, now: float) -> None:
        if self.buffer is not None and self.buffer.step is None:
            self.buffer.step = now  # type: ignore[assignment]
        super()._commit(now)

    def _append(self, step: float, events: Sequence) -> Entry:
        self.buffer = super()._append(step, events)
        return self.buffer
