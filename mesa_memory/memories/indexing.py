"""Keeps the index of a stream of events in line with its entries."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core import render
from mesa_memory.core.embedding import Embedded, EmbedRequest
from mesa_memory.core.events import by_id, is_dump, is_state, sight
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.errors import EmbedderError
from mesa_memory.memories.entry import Entry, entry_events, entry_lines, importance_of
from mesa_memory.memories.grading import Grading
from mesa_memory.retrieval.index import RecordIndex


class Indexing(Grading):
    """A memory whose entries, one for each event, stand in an index."""

    _index: RecordIndex
    _entry_of: dict[str, MemoryEntry]  # by the id of its record
    _strangers: int  # entries here that were made elsewhere
    _strangers_met: int  # all of those so far, which numbers them
    _in_question: list[MemoryRecord]  # in the index and without a grade

    def __new__(cls, *args: Any, **kwargs: Any) -> "Indexing":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._index = RecordIndex()
        self._entry_of = {}
        self._strangers = self._strangers_met = 0
        self._in_question = []
        return self

    def recount(self, observer: Any) -> None:
        """See ``MemoryModule``; embeddings too, as far as there are any."""
        super().recount(observer)
        told = {record.id for record in self._held()}
        records, vectors = self._index.embedded()
        rows = [row for row, record in enumerate(records) if record.id in told]
        if rows:
            known = [records[row] for row in rows]
            observer.embedded(known, vectors[rows], self._index.source)

    def _forget_index(self) -> None:
        """Starts a new index; it is filled again at the next recall."""
        top = self._index.top
        self._index = RecordIndex()
        self._index.top = top
        self._entry_of, self._in_question = {}, []

    def _take_in(self) -> None:
        """Brings the index up to date, as late as possible: at a recall.

        A local embedder then has the new events of all agents in one call; a remote one
        was asked when they were graded.
        """
        self._align()
        for record in self._in_question:
            if record.importance is not None and record in self._index:
                self._index.grade(record, record.importance)
        still = [r for r in self._in_question if r.importance is None]
        self._in_question = still
        if self.services.embeds_here and (bare := self._index.lacking()):
            self._embed_here(bare)

    def _announce(self, entries: Iterable[Entry]) -> None:
        """These entries will be embedded here, with those of other agents."""
        texts = {entry.events[0].id: self._body_of(entry) for entry in entries}
        self.services.pool.announce(texts)

    def _embed_here(self, bare: Sequence[MemoryRecord]) -> None:
        def embed(texts: Sequence[str]) -> Any:
            request = EmbedRequest(tuple(texts), self.agent.unique_id, self._now())
            return self.services.embed(request).vectors

        rows = self.services.pool.take(
            [record.id for record in bare],
            lambda key: self._body_of(self._entry_of[key]),
            embed,
        )
        found = Embedded(np.stack(rows), self.services.embedder.name)
        self._index.embed_all(bare, found.vectors, found.source)
        self._note_embedded(bare, found)

    def _align(self) -> None:
        """Brings the index in line with the entries, which users may change."""
        entries = self._kept()
        if len(entries) == len(self._index) and not self._strangers:
            # Nobody puts new entries between old ones.
            ends = [entries[0], entries[-1]] if entries else []
            if all(isinstance(e, Entry) and e.events[0] in self._index for e in ends):
                return
        present: dict[str, MemoryEntry] = {}
        for entry in entries:
            record = self._record_of(entry)
            present[record.id] = entry
            if record not in self._index:
                self._add(entry, record)
        for key in self._entry_of.keys() - present.keys():
            self._index.remove(self._record_of(self._entry_of[key]))
        self._entry_of = present
        self._strangers = sum(not isinstance(e, Entry) for e in entries)

    def _add(self, entry: MemoryEntry, record: MemoryRecord) -> None:
        sender = None
        if record.kind == "message" and isinstance(record.content, dict):
            sender = record.content.get("sender")
        who = None if sender is None else by_id(sender)
        name = "" if sender is None else self._names.name(sender)
        self._index.add(record, self._words_of(entry), who=who, alias=name)
        if record.importance is None:
            self._in_question.append(record)

    def _text_of(self, entry: MemoryEntry) -> str:
        """Says when and who: both are asked for as often as what was said."""
        lines = "\n".join(entry_lines(entry, self.event_chars))
        return f"Step {render.value_text(entry.step)}: {lines}"

    def _words_of(self, entry: MemoryEntry) -> str:
        """A text to find an entry by: of a state, only who was in sight."""
        if not any(is_state(*event) for event in entry_events(entry)):
            return self._text_of(entry)
        return f"Step {render.value_text(entry.step)}: {self._body_of(entry)}"

    def _body_of(self, entry: MemoryEntry) -> str:
        """What was said or done, to be embedded: who and when would blur it.

        The state of all things in sight has words for every query, so of an
        observation only those in sight count.
        """
        return "\n".join(
            sight(content, self._names)
            if is_state(kind, content)
            else render.event_text(kind, _unsigned(kind, content), self.event_chars)
            for kind, content in entry_events(entry)
        )

    def _embed(self, entries: Iterable[Entry]) -> Flow[None]:
        """Embeds entries of the index, all in one request."""
        new = [e for e in entries if e.events[0] in self._index]
        if not new:
            return
        request = self._embed_request(new)
        try:
            embedded: Embedded = yield request
        except EmbedderError as error:
            error.agent, error.step = request.agent, request.step
            raise
        records = [entry.events[0] for entry in new]
        self._index.embed_all(records, embedded.vectors, embedded.source)
        self._note_embedded(records, embedded)

    def _note_embedded(self, records: Sequence[MemoryRecord], found: Embedded) -> None:
        if recorder := self.services.recorder:
            recorder.embedded(records, found.vectors, found.source)

    def _embed_request(self, entries: Iterable[MemoryEntry]) -> EmbedRequest:
        texts = tuple(self._body_of(entry) for entry in entries)
        return EmbedRequest(texts, self.agent.unique_id, self._now())

    def _dumps(self) -> list[MemoryRecord]:
        """The records that say how things were, which nobody has to be reminded of."""
        records = map(self._record_of, self._kept())
        dumps = [r for r in records if is_dump(r.kind, r.content)]
        return dumps if len(dumps) < len(self._index) else []

    def _record_of(self, entry: MemoryEntry) -> MemoryRecord:
        """An entry's record; one is made up for an entry that was made elsewhere."""
        if isinstance(entry, Entry):
            return entry.events[0]
        record = vars(entry).get("_record")
        if record is None:
            kind = next(iter(entry.content), "memory")
            record = self._stranger(kind, entry)
            vars(entry)["_record"] = record
        record.importance = importance_of(entry)
        if record in self._index:
            self._index.grade(record, record.importance)
        return record

    def _stranger(self, kind: str, entry: MemoryEntry) -> MemoryRecord:
        agent, step = self.agent.unique_id, entry.step or 0
        self._strangers_met += 1
        name = f"{agent}/{self.layer}/elsewhere/{self._strangers_met}"
        return MemoryRecord(name, agent, self.layer, kind, step, entry.content)

    def _instant(self) -> bool:
        here = self.services.embeds_here
        return here and (self.importance != "llm" or self._asks_instantly())

    @abstractmethod
    def _kept(self) -> Any:
        """The entries that may be recalled, oldest first."""

    @abstractmethod
    def _ungraded(self) -> list[Entry]:
        """The newest entries, which wait for their grade."""


def _unsigned(kind: str, content: Any) -> Any:
    """A message without its sender; all else as it is."""
    if kind != "message" or not isinstance(content, Mapping):
        return content
    return {key: value for key, value in content.items() if key != "sender"}
