"""The agent's impression of each other agent it has met."""

from collections.abc import Iterable
from typing import Any, Unpack

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.validate import checked_int
from mesa_memory.layers.impressions import Impressions
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.entries import HeldSteps
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions


class ImpressionMemory(MemoryModule):
    """The last steps, and one current impression of each agent met (UNIMATRIx).

    An impression is renewed from the previous one and what happened since, once
    ``update_every`` interactions (messages heard and sent) have come together; all that
    are due in a step are asked for in one request. Only agents with a memory or a
    language model count, and agents that speak.

    Args:
        agent: the agent that owns the memory.
        update_every: interactions with an agent between two impressions, at least 1.
        n: how many steps to keep word for word, at least 1.
        impression_chars: longest accepted impression.
        counts: kinds of events that are interactions, and what an impression is made
            from; ``("message", "observation")`` counts those seen as well, see
            ``Impressions``.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Raises:
        ValueError: for a number below 1, or if no kind of events counts.
    """

    layer = "impression"
    short_term_memory = HeldSteps()
    n = Delegate("_window", "How many steps are kept word for word.", "capacity")
    update_every = Delegate("_impressions", "Interactions between two impressions.")
    impression_chars = Delegate("_impressions", "Longest impression.", "max_chars")
    counts = Delegate("_impressions", "Kinds of events that are interactions.")

    def __init__(
        self,
        agent: Any,
        update_every: int = 5,
        n: int = 5,
        *,
        impression_chars: int = 400,
        counts: Iterable[str] = ("message",),
        **options: Unpack[MemoryOptions],
    ) -> None:
        self._window = Window(checked_int("n", n))
        self._impressions = Impressions(
            self._window,
            checked_int("update_every", update_every),
            checked_int("impression_chars", impression_chars),
            counts,
        )
        super().__init__(agent, layers=[self._window, self._impressions], **options)

    def impressions(self) -> dict[Any, MemoryRecord]:
        """The current impression of each agent met, by unique id, in order of meeting.

        A record's content has ``text``, ``sentiment`` (-1 to 1) and ``familiarity``
        (0 to 1); its ``sources`` are the evidence.
        """
        return self._impressions.current()

    def impression_of(self, agent: Any) -> MemoryRecord | None:
        """The current impression of an agent (or unique id); None without one."""
        return self.impressions().get(self.view().names.unique_id(agent))

    def revisions(self, agent: Any) -> list[MemoryRecord]:
        """All impressions of an agent (or unique id), oldest first."""
        known = self._impressions.known.get(self.view().names.unique_id(agent))
        return list(known.revisions) if known else []

    def format_long_term(self) -> str:
        """Impressions of those seen nearby, just heard from, or named in what they said."""
        return self.bulleted(self._impressions.summary(self.view()), "impressions")

    def prompt_text(self) -> str:
        """The impressions, and recent steps."""
        return self.with_recent("impressions", self.format_long_term())
