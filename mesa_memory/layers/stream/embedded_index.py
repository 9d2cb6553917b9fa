"""An index of records by words and embeddings, and what the recorder is told of it."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Sequence
from typing import Any

import numpy as np

from mesa_memory.core.embedding import Embedded, EmbedRequest
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.errors import EmbedderError
from mesa_memory.layers.context import LayerContext
from mesa_memory.retrieval.index import RecordIndex


class EmbeddedIndex(ABC):
    """Records of a layer, ranked by words and embeddings.

    Records are embedded when something is recalled. If a researcher who must leave no
    trace is the first to ask, the recorder is told at the agent's own next recall: then,
    and only then, they would have been embedded without the researcher.

    Attributes:
        ranking: the index itself.
    """

    context: LayerContext

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        self.ranking = RecordIndex()
        self._unrecorded: dict[str, MemoryRecord] = {}

    @abstractmethod
    def embedded_text(self, record: MemoryRecord) -> str:
        """The text of a record that is embedded."""

    @abstractmethod
    def align(self) -> None:
        """Brings the index in line with the layer."""

    def embed_now(self, without: Container[str] = ()) -> None:
        """Embeds the records that lack a vector, with those of other memories.

        Args:
            without: ids of records that are embedded later.
        """
        lacking = [r for r in self.ranking.lacking() if r.id not in without]
        if lacking:
            runtime, by_id = self.context.runtime, {r.id: r for r in lacking}
            rows = runtime.embedded_together(
                list(by_id), lambda key: self.embedded_text(by_id[key])
            )
            self._take(lacking, Embedded(np.stack(rows), runtime.embedder_name))

    def request_embeddings(self, records: Sequence[MemoryRecord]) -> Flow[None]:
        """Embeds records of the index, all in one request."""
        if not records:
            return
        agent, now = self.context.agent.unique_id, self.context.now
        texts = tuple(map(self.embedded_text, records))
        try:
            found: Embedded = yield EmbedRequest(texts, agent, now)
        except EmbedderError as error:
            error.agent, error.step = agent, now
            raise
        self._take(records, found)

    def recount(self, observer: Any, told: Collection[str]) -> None:
        """Tells an observer that comes late of the embeddings that there are.

        Args:
            told: ids of the records that it knows of.
        """
        records, vectors = self.ranking.embedded()
        rows = [row for row, record in enumerate(records) if record.id in told]
        if rows:
            known = [records[row] for row in rows]
            observer.embedded(known, vectors[rows], self.ranking.source)

    def note_recall(self) -> None:
        """Something is recalled: records embeddings that are still held."""
        if not self._unrecorded or self.context.unnoticed:
            return
        records, vectors = self.ranking.embedded()
        rows = [n for n, record in enumerate(records) if record.id in self._unrecorded]
        self._unrecorded.clear()
        if rows:
            found = Embedded(vectors[rows], self.ranking.source)
            self.context.runtime.note_embedded([records[row] for row in rows], found)

    def _take(self, records: Sequence[MemoryRecord], found: Embedded) -> None:
        self.ranking.embed_all(records, found.vectors, found.source)
        if self.context.unnoticed:
            self._unrecorded.update((record.id, record) for record in records)
        else:
            self.context.runtime.note_embedded(records, found)
