"""Whom a query names among those who speak in one agent's records, and what of it."""

from collections.abc import Sequence

import numpy as np

from mesa_memory.retrieval.bm25 import words
from mesa_memory.retrieval.dialogue import DialogueContext
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.retrieval.table import RecordTable, Slots
from mesa_memory.retrieval.temporal import TimeConstraint


class NamedRecords(RecordTable):
    """The live records of one agent, by those who speak in them or are spoken of."""

    def __init__(self) -> None:
        super().__init__()
        # What was made of all records, and after which change of them.
        self._company_kept: tuple[int, DialogueContext | None] = (0, None)
        self._named_kept: tuple[int, dict[int, np.ndarray]] = (0, {})

    def body(self, query: str, scoring: Scoring) -> str:
        """What of a query to embed: what a recall does not count in another way.

        Without the names of speakers, if ``named`` counts them, and without words of
        time, if ``asked`` does. Never empty unless the query is.
        """
        body = TimeConstraint.of(query).body if scoring.asked else query
        if not scoring.named:
            return body
        return self._speakers.without(body, self._speaking(words(body)))

    def _speaking(self, said: Sequence[str]) -> list[int]:
        """Numbers of those named whose words are here; nobody who was forgotten."""
        who = self._columns["who"][: len(self._records)]
        alive = self._columns["alive"][: len(self._records)]
        named = self._speakers.named_in(said)
        return [code for code in named if (alive & (who == code)).any()]

    def _company(self, slots: Slots) -> DialogueContext:
        whole = isinstance(slots, slice)
        changes, kept = self._company_kept
        if whole and kept is not None and changes == self._changes:
            return kept
        places, who = self._columns["place"][slots], self._columns["who"][slots]
        made = DialogueContext.of(places, who)
        if whole:
            self._company_kept = self._changes, made
        return made

    def _named(self, slots: Slots, said: Sequence[str]) -> list[np.ndarray]:
        """For each one named, positions of the candidates that are by or of them."""
        named = self._speakers.named_in(said)
        if not named:
            return []
        if self._named_kept[0] != self._changes:
            self._named_kept = self._changes, {}
        if not isinstance(slots, slice):
            return [self._bearing(slots, code) for code in self._speaking(said)]
        kept = self._named_kept[1]
        for code in named:
            if code not in kept:
                kept[code] = self._bearing(slots, code)
        return [kept[code] for code in named]

    def _bearing(self, slots: Slots, code: int) -> np.ndarray:
        mentions = np.zeros(len(self._records), dtype=bool)
        for name in self._speakers.names(code):
            mentions[self._lexical.holding(name)] = True
        speaks = self._columns["who"][slots] == code
        return self._company(slots).named(speaks, mentions[slots])
