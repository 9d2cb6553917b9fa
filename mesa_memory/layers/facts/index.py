"""An index for the recall of facts."""

from collections.abc import Callable, Iterable

from mesa_memory.core import render
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.layers.stream.embedded_index import EmbeddedIndex

#: the highest importance; a fact has one more than how often it was stated
MAX_IMPORTANCE = 5


class FactIndex(EmbeddedIndex):
    """The current facts of one memory, by what they say.

    Args:
        current: gives them.
        strength: how often a fact was stated; what may not hold any more counts least.
    """

    def __init__(
        self,
        current: Callable[[], Iterable[MemoryRecord]],
        strength: Callable[[MemoryRecord], float],
    ) -> None:
        self._current, self._strength = current, strength
        super().__init__()

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        super().clear()
        self._held: dict[str, tuple[MemoryRecord, float]] = {}

    def dumps(self) -> list[MemoryRecord]:
        """Unlike events, all facts are recalled."""
        return []

    def refresh(self) -> None:
        """Brings the index up to date."""
        self.align()
        self.note_recall()
        if self.context.runtime.embeds_here:
            self.embed_now()

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
        """Embeds new facts, all in one request, where that takes a while."""
        if not self.context.runtime.embeds_here:
            self.align()
            yield from self.request_embeddings(self.ranking.lacking())

    def embedded_text(self, record: MemoryRecord) -> str:
        """See ``EmbeddedIndex``."""
        return text_of(record)

    def restore(self) -> None:
        """Starts anew with other facts; elsewhere their vectors are asked for again."""
        self.clear()
        if not self.context.runtime.embeds_here:
            self.align()
            self.embed_now()


def text_of(record: MemoryRecord) -> str:
    """The text by which a fact is found."""
    return render.one_line(str(record.content["text"]))
