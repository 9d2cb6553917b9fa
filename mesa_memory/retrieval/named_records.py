"""Records by or about the speakers whom a query names."""

from collections.abc import Sequence

import numpy as np

from mesa_memory.retrieval.bm25 import words
from mesa_memory.retrieval.dialogue import DialogueContext
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.retrieval.table import RecordTable, Slots
from mesa_memory.retrieval.temporal import TimeConstraint


class NamedRecords:
    """The live records of one agent, by those who speak in them or are spoken of."""

    def __init__(self, table: RecordTable) -> None:
        self._table = table

    def body(self, query: str, scoring: Scoring) -> str:
        """See ``RecordIndex.body``."""
        body = TimeConstraint.of(query).body if scoring.time_match else query
        if not scoring.speaker_boost:
            return body
        return self._table.speakers.without(body, self._speaking(words(body)))

    def _speaking(self, said: Sequence[str]) -> list[int]:
        """Numbers of the named speakers with records here."""
        who = self._table.columns["who"][: len(self._table.records)]
        alive = self._table.columns["alive"][: len(self._table.records)]
        named = self._table.speakers.named_in(said)
        return [code for code in named if (alive & (who == code)).any()]

    def dialogue(self, slots: Slots) -> DialogueContext:
        """The runs of candidates that are parts of one conversation."""
        places, who = (
            self._table.columns["place"][slots],
            self._table.columns["who"][slots],
        )
        return DialogueContext.of(places, who)

    def named(self, slots: Slots, said: Sequence[str]) -> list[np.ndarray]:
        """For each one named, positions of the candidates that are by or of them."""
        return [self._bearing(slots, code) for code in self._speaking(said)]

    def _bearing(self, slots: Slots, code: int) -> np.ndarray:
        mentions = np.zeros(len(self._table.records), dtype=bool)
        for name in self._table.speakers.names(code):
            mentions[self._table.lexical.holding(name)] = True
        speaks = self._table.columns["who"][slots] == code
        return self.dialogue(slots).named(speaks, mentions[slots])
