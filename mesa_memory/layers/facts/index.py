"""An index of facts, so that some of many come to mind."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from mesa_memory.core import render
from mesa_memory.core.embedding import Embedded, EmbedRequest
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.errors import EmbedderError
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.stream.embedding_notes import EmbeddingNotes
from mesa_memory.retrieval.index import RecordIndex

#: the highest importance; a fact has one more than how often it was stated
MAX_IMPORTANCE = 5


class FactIndex:
    """The current facts of one memory, by what they say.

    Args:
        current: gives them.
        strength: how often a fact was stated; what may not hold any more counts least.

    Attributes:
        ranking: the index itself.
    """

    context: LayerContext

    def __init__(
        self,
        current: Callable[[], Iterable[MemoryRecord]],
        strength: Callable[[MemoryRecord], float],
    ) -> None:
        self._current, self._strength = current, strength
        self.clear()

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        self.ranking = RecordIndex()
        self._notes = EmbeddingNotes()
        self._held: dict[str, tuple[MemoryRecord, float]] = {}

    def dumps(self) -> list[MemoryRecord]:
        """The facts that nobody has to be reminded of: none."""
        return []

    def refresh(self) -> None:
        """Brings the index up to date."""
        self.align()
        self._notes.read(self.context, self.ranking)
        if self.context.runtime.embeds_here:
            self._embed_together()

    def align(self) -> None:
        """Brings the index in line with the facts."""
        # In order of making, as neighbours count: also in an index that is filled anew.
        made = sorted(self._current(), key=lambda record: record.order)
        present = {record.id: record for record in made}
        for key in self._held.keys() - present.keys():
            self.ranking.remove(self._held.pop(key)[0])
        for key, record in present.items():
            strength = max(1.0, min(1 + self._strength(record), MAX_IMPORTANCE))
            known = self._held.get(key)
            if known is None:
                self.ranking.add(record, text_of(record))
            if known is None or known[1] != strength:
                self.ranking.grade(record, strength)
                self._held[key] = record, strength

    def embed(self) -> Flow[None]:
        """Embeds what is new, all in one request, where that takes a while."""
        if self.context.runtime.embeds_here:
            return
        self.align()
        new = self.ranking.lacking()
        if not new:
            return
        agent, now = self.context.agent.unique_id, self.context.now
        try:
            found = yield EmbedRequest(tuple(map(text_of, new)), agent, now)
        except EmbedderError as error:
            error.agent, error.step = agent, now
            raise
        self._take(new, found)

    def restore(self) -> None:
        """Starts anew with other facts; elsewhere their vectors are asked for again."""
        self.clear()
        if not self.context.runtime.embeds_here:
            self.align()
            self._embed_together()

    def _embed_together(self) -> None:
        """Embeds the facts that have no vector, with what other memories wait for."""
        runtime = self.context.runtime
        if bare := self.ranking.lacking():
            texts = {record.id: text_of(record) for record in bare}
            rows = runtime.embedded_together([r.id for r in bare], texts.__getitem__)
            self._take(bare, Embedded(np.stack(rows), runtime.embedder_name))

    def _take(self, records: Sequence[MemoryRecord], found: Embedded) -> None:
        self.ranking.embed_all(records, found.vectors, found.source)
        self._notes.made(self.context, records, found)


def text_of(record: MemoryRecord) -> str:
    """What a fact says, to be found by."""
    return render.one_line(str(record.content["text"]))
