"""What the record of a run says of embeddings: those that the agent's own reads needed."""

from collections.abc import Sequence

from mesa_memory.core.embedding import Embedded
from mesa_memory.core.records import MemoryRecord
from mesa_memory.layers.context import LayerContext
from mesa_memory.retrieval.index import RecordIndex


class EmbeddingNotes:
    """Tells the recorder of embeddings, and of those made for an observer only later.

    Records are embedded when something is recalled. If the first to ask is a researcher,
    who must leave no trace, the recorder is told once the agent itself recalls something:
    then, and only then, they would have been embedded without the researcher.
    """

    def __init__(self) -> None:
        self._untold: dict[str, MemoryRecord] = {}

    def made(
        self, context: LayerContext, records: Sequence[MemoryRecord], found: Embedded
    ) -> None:
        """Records got their embeddings."""
        if context.unnoticed:
            self._untold.update((record.id, record) for record in records)
        else:
            context.runtime.note_embedded(records, found)

    def read(self, context: LayerContext, ranking: RecordIndex) -> None:
        """Something is being recalled: tells what was not told, and is still held."""
        if not self._untold or context.unnoticed:
            return
        records, vectors = ranking.embedded()
        rows = [n for n, record in enumerate(records) if record.id in self._untold]
        self._untold.clear()
        if rows:
            found = Embedded(vectors[rows], ranking.source)
            context.runtime.note_embedded([records[row] for row in rows], found)
