"""Recalls events of a stream for a query, or for the step's own focus.

Both are embedded. With a remote embedder, agents in an event loop await the vector before
the read. The ranking is the same as without an event loop, unless the recall is marked as
ranked by keywords only.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from mesa_memory.core import render
from mesa_memory.core.content import by_id
from mesa_memory.core.events import is_state, subjects
from mesa_memory.core.records import MemoryRecord, Part
from mesa_memory.core.requests import Embedded, EmbedRequest, Flow
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import EmbedderError
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.stream.indexing import EventIndex, unsigned
from mesa_memory.retrieval.index import ScoredRecord, SearchResult
from mesa_memory.retrieval.scoring import Scoring

logger = logger_of(__name__)

#: number of newest messages in the focus
FOCUS_MESSAGES = 20
#: most agents in sight that bring somebody to mind; more are a crowd
FOCUS_PEOPLE = 5
#: what a recall says if its query has no vector
BY_WORDS = "by words alone: the query was not embedded"
#: what a recall says if who spoke counts
SPOKEN = "with records by or about {}, who spoke, a little higher"
#: what a recall says if nothing fits its query, see ``retrieval.match``
WEAK_MATCH = "with a weak match: none of the records fits the query by itself"

#: a text, and its embedding; None if it could not be had
type Query = tuple[str, Embedded | None]
#: gives the embedding of a text; the second argument says that it must be had
type VectorOf = Callable[[str, bool], Embedded | None]


class RecallResult(NamedTuple):
    """The result of a recall, with its query and scoring.

    Attributes:
        note: what else there is to say of it; empty if nothing.
        part: the layer that recalled, if other layers think at the same time.
        weak: whether none of the records fits the query, see ``retrieval.match``.
        left_out: how many further records could have been recalled.
    """

    query: str | None
    scoring: Scoring
    records: list[ScoredRecord]
    note: str = ""
    part: Part | None = None
    weak: bool = False
    left_out: int = 0

    @classmethod
    def of(
        cls, query: str | None, scoring: Scoring, found: SearchResult, *notes: str
    ) -> "RecallResult":
        """The result of a search, with a note if it is weak."""
        weak = found.match < 0
        note = "; ".join([*notes, *[WEAK_MATCH] * weak])
        return cls(
            query, scoring, found.records, note, weak=weak, left_out=found.left_out
        )


class Recollection:
    """Ranks the events of a stream for a query, or for the focus of the step under way.

    Args:
        considered: how many are recalled if a recall does not say.
        decay: factor of recency per step of age.
        scoring: how, if a recall does not say; None uses ``decay``.

    Attributes:
        index: the events; set by the stream.
        ungraded: gives the events to which the model gave no grade; set by the stream.
        vector_of: embeds a query; None embeds it only where that takes no time.
    """

    context: LayerContext
    index: EventIndex
    ungraded: Callable[[], list[MemoryRecord]]
    vector_of: VectorOf | None = None

    def __init__(
        self, considered: int = 30, decay: float = 0.995, scoring: Scoring | None = None
    ) -> None:
        if not isinstance(scoring, Scoring | None):
            raise TypeError(f"scoring must be a Scoring or None, got {scoring!r}")
        self.considered, self.decay, self.scoring = considered, decay, scoring
        Scoring(decay=decay)  # checks it
        self._asked: dict[bool, Query] = {}  # the last question (True), the last focus

    def find(
        self,
        query: str | None,
        k: int | None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> RecallResult:
        """The recalled events, from those in the index.

        Args:
            query: what it is about; None takes the focus.
            k: at most ``k`` of them; None is ``considered``.
            **filters: see ``RecordIndex.recall``.
        """
        text, scoring = self._meant(query, scoring)
        names, heard = self.context.names, self._speakers(query, scoring)
        called = [name for i in heard for name in (names.name(i), by_id(i)) if name]
        if self.context.unnoticed:
            scoring = replace(scoring, refresh="off")
        if query is None and not filters.get("kinds"):
            filters["dumps"] = False  # what is in sight is told by observations
        body = self._dense_body(text, scoring)
        asked = None if body is None else self._vector(body, query is not None)
        found = self.index.ranking.search(
            text or None,
            self.considered if k is None else k,
            vector=asked.vectors[0] if asked else None,
            source=asked.source if asked else "",
            scoring=scoring,
            now=self.context.now,
            speakers=called,
            **filters,
        )
        notes = [BY_WORDS] if body is not None and asked is None else []
        notes += [SPOKEN.format(", ".join(map(names, heard)))] if heard else []
        return RecallResult.of(text or None, scoring, found, *notes)

    def to_embed(self, query: str | None, scoring: Scoring | None) -> str | None:
        """The text that a recall would embed now; None if it embeds nothing."""
        self.index.refresh()
        return self._dense_body(*self._meant(query, scoring))

    def embed_query(self, text: str, must: bool) -> Flow[Embedded | None]:
        """The text's embedding; None if it is not a must and cannot be had now."""
        agent, now = self.context.agent.unique_id, self.context.now
        try:
            embedded = yield EmbedRequest((text,), agent, now)
        except EmbedderError as error:
            if must or not error.passing:
                raise
            logger.warning("%s; recalled by words alone", str(error))
            embedded = None
        self._asked[must] = text, embedded
        return embedded

    def known_vector(self, text: str) -> Embedded | None:
        """The embedding of a text, if it is among the last that were made."""
        source = self.context.runtime.services.embedder.name
        for asked in (self.context.view.embedded, *self._asked.values()):
            if asked and asked[0] == text and asked[1] and asked[1].source == source:
                return asked[1]
        return None

    def _vector(self, text: str, must: bool) -> Embedded | None:
        """The text's embedding; None if it is not a must and cannot be had now."""
        known = self.known_vector(text)
        if known is not None:
            return known
        if self.vector_of is not None:
            return self.vector_of(text, must)
        runtime = self.context.runtime
        return (
            runtime.run(self.embed_query(text, must))
            if runtime.services.embeds_here
            else None
        )

    def tried(self, text: str, must: bool) -> bool:
        """True if the text's embedding was awaited in vain."""
        return (self.context.view.embedded or self._asked.get(must)) == (text, None)

    def scoring_of(self, text: str) -> Scoring:
        """The default scoring of a recall about a text."""
        if self.scoring:
            return self.scoring
        return _usual_scoring(bool(text), self.decay)

    def _meant(self, query: Any, scoring: Any) -> tuple[str, Scoring]:
        """The text and the scoring of a recall."""
        if not isinstance(query, str | None):
            raise TypeError(f"query must be a text or None, got {query!r}")
        if not isinstance(scoring, Scoring | None):
            raise TypeError(f"scoring must be a Scoring or None, got {scoring!r}")
        text = self.sought() if query is None else query.strip()
        scoring = scoring or self.scoring_of(text)
        if (
            query is None and self.question is None
        ):  # the focus is what was said, not a question about a time
            scoring = scoring.timeless
        return text, scoring

    @property
    def question(self) -> str | None:
        """The question that a prompt is read for; None takes the focus."""
        return self.context.view.about

    def sought(self) -> str:
        """The query of a recall that names none: the prompt's question, or the focus."""
        return self.focus() if self.question is None else self.question.strip()

    def _dense_body(self, text: str, scoring: Scoring) -> str | None:
        """The text to embed; None if the recall needs no embedding."""
        compared = self.index.has_meaning and scoring.lexical_share < 1
        if text and scoring.relevance and compared:
            return self.index.ranking.body(text, scoring)
        return None

    def focus(self) -> str:
        """The focus of a recall without a query: the newest observation and the newest
        messages of the step under way, but for the agent's own: what it just said
        would only call up what it has said before. Who spoke counts apart.
        """
        events = self._under_way()
        seen = [e for e in events if e.kind == "observation"][-1:]
        lines = [*map(self._noticed, seen), *map(self._words, self.spoken())]
        return "\n".join(filter(None, lines))

    def spoken(self) -> list[MemoryRecord]:
        """The messages that make up the focus, but for the agent's own."""
        me = self.context.agent.unique_id
        said = [event for event in self._under_way() if event.kind == "message"]
        return [event for event in said if event.sender != me][-FOCUS_MESSAGES:]

    def _speakers(self, query: str | None, scoring: Scoring) -> list[Any]:
        """Those who speak in the focus and count, without the agent itself."""
        if query is not None or self.question is not None or not scoring.speaker_boost:
            return []
        senders = dict.fromkeys([event.sender for event in self.spoken()])
        return [sender for sender in senders if sender is not None]

    def _under_way(self) -> list[MemoryRecord]:
        return [*self.ungraded(), *self.context.inbox.events()]

    def _words(self, event: MemoryRecord) -> str:
        """An event without its speaker, who counts apart."""
        view, said = self.context.view, unsigned(event.kind, event.content)
        limit = view.limits.event_chars
        return render.event_text(event.kind, said, limit, view.index_voice)

    def _noticed(self, event: MemoryRecord) -> str:
        """The part of an observation in the focus: of a state, a few people."""
        if not is_state(event.kind, event.content):
            return self._words(event)
        me = self.context.agent.unique_id
        met = [i for i in subjects(event.kind, event.content) if i != me]
        names = self.context.names
        return ", ".join(map(names, met)) if len(met) <= FOCUS_PEOPLE else ""


@cache
def _usual_scoring(asked: bool, decay: float) -> Scoring:
    return Scoring(decay=decay) if asked else Scoring.without_query(decay)
