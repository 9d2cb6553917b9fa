"""Whom a query names among those who speak in one agent's records, and what of it."""

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
        # What was made of all records, and after which change of them.
        self._dialogue_kept: tuple[int, DialogueContext | None] = (0, None)
        self._named_kept: tuple[int, dict[int, np.ndarray]] = (0, {})

    def body(self, query: str, scoring: Scoring) -> str:
        """See ``RecordIndex.body``."""
        body = TimeConstraint.of(query).body if scoring.time_match else query
        if not scoring.speaker_boost:
            return body
        return self._table.speakers.without(body, self._speaking(words(body)))

    def _speaking(self, said: Sequence[str]) -> list[int]:
        """Numbers of those named whose words are here; nobody who was forgotten."""
        who = self._table.columns["who"][: len(self._table.records)]
        alive = self._table.columns["alive"][: len(self._table.records)]
        named = self._table.speakers.named_in(said)
        return [code for code in named if (alive & (who == code)).any()]

    def dialogue(self, slots: Slots) -> DialogueContext:
        """Which of the candidates belong together, as parts of one conversation."""
        whole = isinstance(slots, slice)
        changes, kept = self._dialogue_kept
        if whole and kept is not None and changes == self._table.changes:
            return kept
        places, who = (
            self._table.columns["place"][slots],
            self._table.columns["who"][slots],
        )
        made = DialogueContext.of(places, who)
        if whole:
            self._dialogue_kept = self._table.changes, made
        return made

    def named(self, slots: Slots, said: Sequence[str]) -> list[np.ndarray]:
        """For each one named, positions of the candidates that are by or of them."""
        named = self._table.speakers.named_in(said)
        if not named:
            return []
        if self._named_kept[0] != self._table.changes:
            self._named_kept = self._table.changes, {}
        if not isinstance(slots, slice):
            return [self._bearing(slots, code) for code in self._speaking(said)]
        kept = self._named_kept[1]
        for code in named:
            if code not in kept:
                kept[code] = self._bearing(slots, code)
        return [kept[code] for code in named]

    def _bearing(self, slots: Slots, code: int) -> np.ndarray:
        mentions = np.zeros(len(self._table.records), dtype=bool)
        for name in self._table.speakers.names(code):
            mentions[self._table.lexical.holding(name)] = True
        speaks = self._table.columns["who"][slots] == code
        return self.dialogue(slots).named(speaks, mentions[slots])
