"""Recall, for memories that have it."""

from collections.abc import Callable, Collection
from typing import Any

from rich.table import Table

from mesa_memory.core.records import MemoryRecord
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.flags import EMBEDDED
from mesa_memory.layers.stream.recalling import RecallResult, Recollection
from mesa_memory.memories.host.explaining import as_table
from mesa_memory.memories.host.reading import synchronized
from mesa_memory.memories.host.recalls import RecallService
from mesa_memory.retrieval.index import ScoredRecord
from mesa_memory.retrieval.scoring import Scoring


class RecallMixin:
    """The recalls of a memory, synchronous or awaited.

    A memory inherits from it before ``MemoryModule``, and sets ``_recollection`` and
    ``_recalls``.
    """

    agent: Any
    layer_context: LayerContext
    _recollection: Recollection
    _recalls: RecallService
    held_records: Callable[[], list[MemoryRecord]]

    def recount(self, observer: Any) -> None:
        """See ``MemoryModule``; embeddings too, as far as there are any."""
        super().recount(observer)  # type: ignore[misc]
        told = {record.id for record in self.held_records()}
        self._recollection.index.recount(observer, told)

    def recall(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        kinds: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
        subject: Any = None,
    ) -> list[ScoredRecord]:
        """The recalled records, best first, with the parts of their scores.

        Args:
            query: what it is about; None takes the memory's focus: with episodic memory
                the newest observation and the messages that are not graded yet (without
                either, importance and recency count alone), with conversations the last
                lines of dialogue.
            k: the most records to give; None is what the memory recalls for a prompt.
            scoring: by default the memory's own.
            kinds: only events of these kinds, such as ``["message"]``.
            since, until: only events of these steps, both included.
            subject: only events about this agent (or unique id), and no other: what it
                said, what it alone was told, and when it alone was seen.

        Raises:
            EmbedderError: if the query cannot be embedded.
            ValueError: if k is negative.
            TypeError: if query or scoring is of another type.
        """
        filters = {"kinds": kinds, "since": since, "until": until, "subject": subject}
        found = self._recalled(query, k, scoring, **filters)
        # What is noted is written later.
        recorded = self.layer_context.runtime.services.recorder
        return found.own() if recorded else found.records

    async def arecall(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        kinds: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
        subject: Any = None,
    ) -> list[ScoredRecord]:
        """``recall``, for event loops: work and embedder are awaited.

        What several agents ask at the same moment is embedded in one request.
        """
        with EMBEDDED.on(
            self._recollection, await self._recalls.foresee(query, scoring)
        ):
            return self.recall(query, k, scoring, kinds, since, until, subject)

    def explain(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> Table:
        """``recall`` as a table to print with rich."""
        found = self._recalled(query, k, scoring, **filters)
        title = f"Recalled by {self.layer_context.names(self.agent.unique_id)}"
        return as_table(found, title, self.layer_context.names)

    async def aexplain(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> Table:
        """``explain``, for event loops."""
        with EMBEDDED.on(
            self._recollection, await self._recalls.foresee(query, scoring)
        ):
            return self.explain(query, k, scoring, **filters)

    @synchronized
    def _recalled(
        self,
        query: str | None,
        k: int | None,
        scoring: Scoring | None,
        **filters: Any,
    ) -> RecallResult:
        return self._recalls.noted("query", query, k, scoring, **filters)

    async def aprepare(self, kind: str, once: bool = False) -> None:
        """See ``MemoryModule``; embeds what the next recall will be about."""
        await self._recalls.aprepare(kind, once)
