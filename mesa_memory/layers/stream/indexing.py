"""Indexes of records by words and embeddings."""

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.content import by_id
from mesa_memory.core.events import is_dump, is_state, sight
from mesa_memory.core.importance import GRADE_MAX, GRADE_MIN
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Embedded, EmbedRequest, Flow
from mesa_memory.core.statement import KEEP, statement
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, vocabulary
from mesa_memory.errors import EmbedderError
from mesa_memory.layers.view import StepView
from mesa_memory.retrieval.index import RecordIndex


class EmbeddedIndex(ABC):
    """Records of a layer, ranked by words and embeddings.

    Records are embedded when something is recalled.

    Attributes:
        ranking: the index itself.
    """

    def __init__(self) -> None:
        self._vocabulary = ENGLISH_WORDS
        self.clear()

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        self.ranking = RecordIndex(self._vocabulary)

    @abstractmethod
    def embedded_text(self, view: StepView, record: MemoryRecord) -> str:
        """The text of a record that is embedded."""

    @abstractmethod
    def align(self, view: StepView) -> None:
        """Brings the index in line with the layer."""

    def refresh(self, view: StepView) -> None:
        """Brings the index up to date, as late as possible: at a recall.

        A local embedder then has the new records of all agents in one call; a remote
        one was asked before.
        """
        self.align(view)
        if view.services.embeds_here:
            self.embed_now(view)

    def set_language(self, view: StepView) -> None:
        """Starts anew if the agent's texts are in another language than those held."""
        language = view.wording.language
        if self._vocabulary.language != language:
            self._vocabulary = vocabulary(language)
            self.clear()
            view.services.note_language(self._vocabulary.language)

    def has_meaning(self, view: StepView) -> bool:
        """True if the embedder knows the language of the agent's texts.

        If it does not, records are ranked by their words alone: a cosine would be chance.
        """
        known = getattr(view.services.embedder, "languages", None)
        return known is None or self._vocabulary.language in known

    def embed_now(self, view: StepView, without: Container[MemoryRecord] = ()) -> None:
        """Embeds the records that lack a vector.

        Args:
            without: records that are embedded later.
        """
        if not self.has_meaning(view):
            return
        lacking = [r for r in self.ranking.lacking() if r not in without]
        if lacking:
            texts = [self.embedded_text(view, each) for each in lacking]
            found = view.services.embed(texts)
            self.ranking.embed_all(lacking, found.vectors, found.source)

    def request_embeddings(
        self, view: StepView, records: Sequence[MemoryRecord]
    ) -> Flow[None]:
        """Embeds records of the index, all in one request."""
        if not records or not self.has_meaning(view):
            return
        agent, now = view.agent.unique_id, view.now
        texts = tuple(self.embedded_text(view, each) for each in records)
        try:
            found: Embedded = yield EmbedRequest(texts, agent, now)
        except EmbedderError as error:
            error.agent, error.step = agent, now
            raise
        self.ranking.embed_all(records, found.vectors, found.source)


class EventIndex(EmbeddedIndex):
    """The records of a stream, indexed by text and subject.

    Args:
        held: the stream's records, oldest first.
        top: the highest grade; None if nothing is graded.

    Attributes:
        is_aligned: False if ``held`` was changed by hand since the last recall.
    """

    def __init__(self, held: list[MemoryRecord], top: int | None) -> None:
        self.held, self._top = held, top
        super().__init__()

    def clear(self) -> None:
        """Starts anew; the index is filled again at the next recall."""
        super().clear()
        self.ranking.top = self._top or GRADE_MAX
        self.is_aligned = True
        self._low: set[str] = set()  # ids of what is stale, which counts least
        self._in_question: list[MemoryRecord] = []  # in the index and without a grade

    def restore(
        self,
        view: StepView,
        accessed: Mapping[str, float | list[float]],
        fresh: Container[MemoryRecord],
    ) -> None:
        """Starts anew with other records.

        Args:
            accessed: see ``accessed``.
            fresh: events that are embedded when they are graded.
        """
        self.clear()
        if not view.services.embeds_here:
            self.align(view)  # only what is new is embedded later
            self.embed_now(view, without=fresh)
        if accessed:
            self.align(
                view
            )  # what a local embedder has to do is done at the next recall
            self.ranking.set_accessed(accessed)

    def accessed(self) -> dict[str, float | list[float]]:
        """Record id -> step of its last access, for those recalled since they came.

        With a scoring that forgets, its presentations.

        Covers the stream's current records: the index itself learns of them at the next
        recall, and a snapshot must not depend on the time of a recall.
        """
        held = {record.id for record in self.held}
        found = self.ranking.accessed()
        return {key: step for key, step in found.items() if key in held}

    def refresh(self, view: StepView) -> None:
        """See ``EmbeddedIndex``; and what is graded or stale by now."""
        super().refresh(view)
        for record in self._in_question:
            if record.importance is not None and record in self.ranking:
                self.ranking.grade(record, record.importance)
        still = [r for r in self._in_question if r.importance is None]
        self._in_question = still
        for record in view.journal.stale.values():
            if record in self.ranking and record.id not in self._low:
                self.ranking.grade(record, GRADE_MIN)
                self._low.add(record.id)

    def align(self, view: StepView) -> None:
        """Brings the index in line with the records."""
        self.set_language(view)
        known = len(self.ranking)
        if not self.is_aligned:
            held, known, self.is_aligned = set(self.held), 0, True
            for record in list(self.ranking.records):
                if record not in held:
                    self.ranking.remove(record)
        for record in self.held[known:]:
            if record not in self.ranking:
                self._add(view, record)

    def embed(self, view: StepView, records: Sequence[MemoryRecord]) -> Flow[None]:
        """Embeds records, all in one request, where that takes a while."""
        if view.services.embeds_here:
            return
        self.align(view)
        yield from self.request_embeddings(
            view, [r for r in records if r in self.ranking]
        )

    def embedded_text(self, view: StepView, record: MemoryRecord) -> str:
        """The words or deeds of an event, to embed without speaker and step.

        The state of all things in sight has words for every query, so of an
        observation only those in sight count.
        """
        kind, content, limit = record.kind, record.content, view.limits.event_chars
        if is_state(kind, content):
            return sight(content, view.index_voice)
        return render.event_text(kind, unsigned(kind, content), limit)

    def _add(self, view: StepView, record: MemoryRecord) -> None:
        """Indexes a record by its text, which says when and who.

        Questions ask for both as often as for the words. Of a state, the text names
        only the agents in sight.
        """
        kind, content, voice = record.kind, record.content, view.index_voice
        if is_state(kind, content):
            text = sight(content, voice)
        else:
            text = render.event_text(kind, content, view.limits.event_chars, voice)
        text = render.at_step(record.step, text, view.wording)
        sender = record.sender if record.kind == "message" else None
        who = None if sender is None else by_id(sender)
        name = "" if sender is None else view.names.name(sender)
        place = None
        if record.kind == "message" and record.subject is not None:
            place = "talk", record.subject  # which goes on over many steps
        dump = is_dump(kind, content)
        said = None if view.limits.repetitions == KEEP else statement(record)
        self.ranking.add(
            record, text, who=who, place=place, alias=name, dump=dump, said=said
        )
        if record.importance is None and self._top is not None:
            self._in_question.append(record)


def unsigned(kind: str, content: Any) -> Any:
    """A message without its sender; all else as it is."""
    if kind != "message" or not isinstance(content, Mapping):
        return content
    return {key: value for key, value in content.items() if key != "sender"}
