"""Indexes of records by words and embeddings."""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.content import by_id
from mesa_memory.core.events import is_dump, is_state, sight
from mesa_memory.core.importance import GRADE_MAX, GRADE_MIN
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Embedded, EmbedRequest, Flow
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, vocabulary
from mesa_memory.core.wording import Voice
from mesa_memory.errors import EmbedderError
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.entry import Entry, entry_events, entry_lines, importance_of
from mesa_memory.retrieval.index import RecordIndex


class EmbeddedIndex(ABC):
    """Records of a layer, ranked by words and embeddings.

    Records are embedded when something is recalled.

    Attributes:
        ranking: the index itself.
    """

    context: LayerContext

    def __init__(self) -> None:
        self._vocabulary = ENGLISH_WORDS
        self.clear()

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        self.ranking = RecordIndex(self._vocabulary)

    @abstractmethod
    def embedded_text(self, record: MemoryRecord) -> str:
        """The text of a record that is embedded."""

    @abstractmethod
    def align(self) -> None:
        """Brings the index in line with the layer."""

    def take_language(self) -> None:
        """Starts anew if the agent's texts are in another language than those held."""
        if self._vocabulary.language != self.context.wording.language:
            self._vocabulary = vocabulary(self.context.wording.language)
            self.clear()
            self.context.runtime.note_language(self._vocabulary.language)

    @property
    def has_meaning(self) -> bool:
        """True if the embedder knows the language of the agent's texts.

        If it does not, records are ranked by their words alone: a cosine would be chance.
        """
        known = getattr(self.context.runtime.services.embedder, "languages", None)
        return known is None or self._vocabulary.language in known

    def embed_now(self, without: Container[str] = ()) -> None:
        """Embeds the records that lack a vector.

        Args:
            without: ids of records that are embedded later.
        """
        if not self.has_meaning:
            return
        lacking = [r for r in self.ranking.lacking() if r.id not in without]
        if lacking:
            texts = list(map(self.embedded_text, lacking))
            found = self.context.runtime.services.embed(texts)
            self.ranking.embed_all(lacking, found.vectors, found.source)

    def request_embeddings(self, records: Sequence[MemoryRecord]) -> Flow[None]:
        """Embeds records of the index, all in one request."""
        if not records or not self.has_meaning:
            return
        agent, now = self.context.agent.unique_id, self.context.now
        texts = tuple(map(self.embedded_text, records))
        try:
            found: Embedded = yield EmbedRequest(texts, agent, now)
        except EmbedderError as error:
            error.agent, error.step = agent, now
            raise
        self.ranking.embed_all(records, found.vectors, found.source)


class EventIndex(EmbeddedIndex):
    """The entries of a stream, one for each event, indexed by text and subject.

    Args:
        held: the stream's entries, which users may change.
        top: the highest grade; None if nothing is graded.

    Attributes:
        entry_of: entry by the id of its record, as of the last ``align``.
    """

    def __init__(self, held: Any, top: int | None) -> None:
        self.held, self._top = held, top
        self._strangers_met = 0  # entries made elsewhere so far, which numbers them
        super().__init__()

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        super().clear()
        self.ranking.top = self._top or GRADE_MAX
        self.entry_of: dict[str, Any] = {}
        self._strangers = 0  # entries here that were made elsewhere
        self._low: set[str] = set()  # ids of what is stale, which counts least
        self._in_question: list[MemoryRecord] = []  # in the index and without a grade

    def restore(self, accessed: Mapping[str, float], fresh: Iterable[str]) -> None:
        """Starts anew with other entries.

        Args:
            accessed: step of the last access by record id.
            fresh: ids of events that are embedded when they are graded.
        """
        self.clear()
        if not self.context.runtime.services.embeds_here:
            self.align()  # only what is new is embedded later
            self.embed_now(without=set(fresh))
        if accessed:
            self.align()  # what a local embedder has to do is done at the next recall
            self.ranking.set_accessed(accessed)

    def accessed(self) -> dict[str, float]:
        """Record id -> step of its last access, for those recalled since they came.

        Covers the stream's current records: the index itself learns of them at the next
        recall, and a snapshot must not depend on the time of a recall.
        """
        made = (vars(entry).get("_record") for entry in self.held)
        held = {record.id for record in made if record is not None}
        held |= {e.events[0].id for e in self.held if isinstance(e, Entry)}
        found = self.ranking.accessed()
        return {key: step for key, step in found.items() if key in held}

    def refresh(self) -> None:
        """Brings the index up to date, as late as possible: at a recall.

        A local embedder then has the new events of all agents in one call; a remote one
        was asked when they were graded.
        """
        self.align()
        for record in self._in_question:
            if record.importance is not None and record in self.ranking:
                self.ranking.grade(record, record.importance)
        still = [r for r in self._in_question if r.importance is None]
        self._in_question = still
        for record in self.context.log.stale.values():
            if record in self.ranking and record.id not in self._low:
                self.ranking.grade(record, GRADE_MIN)
                self._low.add(record.id)
        if self.context.runtime.services.embeds_here:
            self.embed_now()

    def align(self) -> None:
        """Brings the index in line with the entries, which users may change."""
        self.take_language()
        held, count = self.held, 0 if self._strangers else len(self.ranking)
        # New entries are never put between old ones, so the first and the last known
        # entry in their places mean that all known entries are there.
        known = 0 < count <= len(held) and self._has(held[0])
        if not known or not self._has(held[count - 1]):
            return self._align_all()
        new = list(islice(reversed(held), len(held) - count))[::-1]
        if not all(isinstance(entry, Entry) for entry in new):
            return self._align_all()
        for entry in new:
            if not self._has(entry):
                self._add(entry, entry.events[0])
                self.entry_of[entry.events[0].id] = entry
        return None

    def remove(self, record: MemoryRecord) -> None:
        """Takes out a record whose entry is no longer held."""
        if self.entry_of.pop(record.id, None) is not None:
            self.ranking.remove(record)

    def _has(self, entry: Any) -> bool:
        return isinstance(entry, Entry) and entry.events[0].id in self.entry_of

    def _align_all(self) -> None:
        present: dict[str, Any] = {}
        for entry in self.held:
            record = self.record_of(entry)
            present[record.id] = entry
            if record not in self.ranking:
                self._add(entry, record)
        for key in self.entry_of.keys() - present.keys():
            self.ranking.remove(self.record_of(self.entry_of[key]))
        self.entry_of = present
        self._strangers = sum(not isinstance(e, Entry) for e in self.held)

    def embed(self, entries: Iterable[Entry]) -> Flow[None]:
        """Embeds entries, all in one request, where that takes a while."""
        if self.context.runtime.services.embeds_here:
            return
        self.align()
        new = [entry.events[0] for entry in entries]
        yield from self.request_embeddings([r for r in new if r in self.ranking])

    def embedded_text(self, record: MemoryRecord) -> str:
        """See ``EmbeddedIndex``."""
        return self.body_of(self.entry_of[record.id])

    def told(self, record: MemoryRecord) -> str:
        """A record with its step, as a request tells it."""
        entry, context = self.entry_of[record.id], self.context
        lines = entry_lines(entry, context.event_chars, context.voice)
        return render.at_step(entry.step, "\n".join(lines), context.wording)

    def body_of(self, entry: Any) -> str:
        """The words or deeds of an event, to embed without speaker and step.

        The state of all things in sight has words for every query, so of an
        observation only those in sight count.
        """
        limit = self.context.event_chars
        return "\n".join(
            sight(content, self._voice)
            if is_state(kind, content)
            else render.event_text(kind, unsigned(kind, content), limit)
            for kind, content in entry_events(entry)
        )

    def in_order(self, keys: Iterable[str]) -> list[Any]:
        """The entries of records by their ids, oldest first."""
        return [self.entry_of[key] for key in self.ranking.by_arrival(keys)]

    def strangers(self) -> list[MemoryRecord]:
        """Records made up for entries that were made elsewhere."""
        if not self._strangers:
            return []
        return [self.record_of(e) for e in self.held if not isinstance(e, Entry)]

    def record_of(self, entry: Any) -> MemoryRecord:
        """An entry's record; one is made up for an entry that was made elsewhere."""
        if isinstance(entry, Entry):
            return entry.events[0]
        record = vars(entry).get("_record")
        if record is None:
            record = vars(entry)["_record"] = self._stranger(entry)
        record.importance = importance_of(entry)
        if record in self.ranking:
            self.ranking.grade(record, record.importance)
        return record

    def _stranger(self, entry: Any) -> MemoryRecord:
        agent, layer = self.context.agent.unique_id, self.context.layer
        kind = next(iter(entry.content), "memory")
        self._strangers_met += 1
        name = f"{agent}/{layer}/elsewhere/{self._strangers_met}"
        return MemoryRecord(name, agent, layer, kind, entry.step or 0, entry.content)

    def _add(self, entry: Any, record: MemoryRecord) -> None:
        sender = record.sender if record.kind == "message" else None
        who = None if sender is None else by_id(sender)
        name = "" if sender is None else self.context.names.name(sender)
        place = None
        if record.kind == "message" and record.subject is not None:
            place = "talk", record.subject  # which goes on over many steps
        dump = is_dump(record.kind, record.content)
        self.ranking.add(
            record, self._words_of(entry), who=who, place=place, alias=name, dump=dump
        )
        if record.importance is None and self._top is not None:
            self._in_question.append(record)

    def _words_of(self, entry: Any) -> str:
        """The text that is indexed: of a state, only the agents in sight.

        It says when and who: questions ask for both as often as for the words.
        """
        limit, voice = self.context.event_chars, self._voice
        if any(is_state(*event) for event in entry_events(entry)):
            text = self.body_of(entry)
        else:
            text = "\n".join(entry_lines(entry, limit, voice))
        return render.at_step(entry.step, text, voice.wording)

    @property
    def _voice(self) -> Voice:
        return searched(self.context)


def searched(context: LayerContext) -> Voice:
    """Tells who, by name and id, but not to whom: names find the words of a speaker."""
    return Voice(context.names.full, context.wording)


def unsigned(kind: str, content: Any) -> Any:
    """A message without its sender; all else as it is."""
    if kind != "message" or not isinstance(content, Mapping):
        return content
    return {key: value for key, value in content.items() if key != "sender"}
