"""Recalls events of a stream for a query, or for the step's own focus.

Both are embedded. With a remote embedder, agents in an event loop await the vector before
the read. The ranking is the same as without an event loop, unless the recall is marked as
ranked by keywords only.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mesa_memory.core import render
from mesa_memory.core.content import by_id
from mesa_memory.core.events import is_state, subjects
from mesa_memory.core.records import MemoryRecord, Part
from mesa_memory.core.requests import Embedded, EmbedRequest, Flow
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import EmbedderError
from mesa_memory.hosts.draws import draw
from mesa_memory.layers.stream.indexing import EventIndex, unsigned
from mesa_memory.layers.view import StepView
from mesa_memory.retrieval.index import ScoredRecord, SearchResult
from mesa_memory.retrieval.scoring import ActR, Scoring

logger = logger_of(__name__)

#: number of newest messages in the focus
FOCUS_MESSAGES = 20
#: most agents in sight that bring somebody to mind; more are a crowd
FOCUS_PEOPLE = 5
#: what a recall says if its query has no vector
BY_WORDS = "by words alone: the query was not embedded"
#: what a recall says if who spoke counts
SPOKEN = "with records by or about {}, who spoke, a little higher"
#: what a recall says if nothing fits its query, see ``retrieval.index``
WEAK_MATCH = "with a weak match: none of the records fits the query by itself"

#: a text, and its embedding; None if it could not be had
type Query = tuple[str, Embedded | None]
#: gives the embedding of a text; the second argument says that it must be had
type VectorOf = Callable[[StepView, str, bool], Embedded | None]


class RecallResult(NamedTuple):
    """The result of a recall, with its query and scoring.

    Attributes:
        note: what else there is to say of it; empty if nothing.
        part: the layer that recalled, if other layers think at the same time.
        weak: whether none of the records fits the query, see ``retrieval.index``.
        left_out: how many further records could have been recalled.
        forgotten: see ``SearchResult``.
    """

    query: str | None
    scoring: Scoring
    records: list[ScoredRecord]
    note: str = ""
    part: Part | None = None
    weak: bool = False
    left_out: int = 0
    forgotten: Sequence[ScoredRecord] = ()

    @classmethod
    def of(
        cls, query: str | None, scoring: Scoring, found: SearchResult, *notes: str
    ) -> "RecallResult":
        """The result of a search, with a note if it is weak."""
        weak = found.match < 0
        note = "; ".join([*notes, *[WEAK_MATCH] * weak])
        rest = None, weak, found.left_out, found.forgotten
        return cls(query, scoring, found.records, note, *rest)


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
        view: StepView,
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
        text, scoring = self._meant(view, query, scoring)
        names, heard = view.names, self._speakers(view, query, scoring)
        called = [name for i in heard for name in (names.name(i), by_id(i)) if name]
        if view.unnoticed:
            scoring = replace(scoring, refresh="off")
        if query is None and not filters.get("kinds"):
            filters["dumps"] = False  # what is in sight is told by observations
        body = self._dense_body(view, text, scoring)
        asked = None if body is None else self._vector(view, body, query is not None)
        found = self.index.ranking.search(
            text or None,
            self.considered if k is None else k,
            vector=asked.vectors[0] if asked else None,
            source=asked.source if asked else "",
            scoring=scoring,
            now=view.now,
            speakers=called,
            chance=chance_of(view, scoring),
            **filters,
        )
        notes = [BY_WORDS] if body is not None and asked is None else []
        notes += [SPOKEN.format(", ".join(map(names, heard)))] if heard else []
        return RecallResult.of(text or None, scoring, found, *notes)

    def to_embed(
        self, view: StepView, query: str | None, scoring: Scoring | None
    ) -> str | None:
        """The text that a recall would embed now; None if it embeds nothing."""
        self.index.refresh(view)
        return self._dense_body(view, *self._meant(view, query, scoring))

    def embed_query(
        self, view: StepView, text: str, must: bool
    ) -> Flow[Embedded | None]:
        """The text's embedding; None if it is not a must and cannot be had now."""
        agent, now = view.agent.unique_id, view.now
        try:
            embedded = yield EmbedRequest((text,), agent, now)
        except EmbedderError as error:
            if must or not error.passing:
                raise
            logger.warning("%s; recalled by words alone", str(error))
            embedded = None
        self._asked[must] = text, embedded
        return embedded

    def known_vector(self, view: StepView, text: str) -> Embedded | None:
        """The embedding of a text, if it is among the last that were made."""
        source = view.services.embedder.name
        for asked in (view.embedded, *self._asked.values()):
            if asked and asked[0] == text and asked[1] and asked[1].source == source:
                return asked[1]
        return None

    def _vector(self, view: StepView, text: str, must: bool) -> Embedded | None:
        """The text's embedding; None if it is not a must and cannot be had now."""
        known = self.known_vector(view, text)
        if known is not None:
            return known
        if self.vector_of is not None:
            return self.vector_of(view, text, must)
        if not view.services.embeds_here:
            return None
        found: Embedded | None = view.memory.run(self.embed_query(view, text, must))
        return found

    def tried(self, view: StepView, text: str, must: bool) -> bool:
        """True if the text's embedding was awaited in vain."""
        return (view.embedded or self._asked.get(must)) == (text, None)

    def scoring_of(self, text: str) -> Scoring:
        """The default scoring of a recall about a text."""
        if self.scoring:
            return self.scoring
        return _usual_scoring(bool(text), self.decay)

    def _meant(self, view: StepView, query: Any, scoring: Any) -> tuple[str, Scoring]:
        """The text and the scoring of a recall."""
        if not isinstance(query, str | None):
            raise TypeError(f"query must be a text or None, got {query!r}")
        if not isinstance(scoring, Scoring | None):
            raise TypeError(f"scoring must be a Scoring or None, got {scoring!r}")
        text = self.sought(view) if query is None else query.strip()
        scoring = scoring or self.scoring_of(text)
        if (
            query is None and view.about is None
        ):  # the focus is what was said, not a question about a time
            scoring = scoring.timeless
        return text, scoring

    def sought(self, view: StepView) -> str:
        """The query of a recall that names none: the prompt's question, or the focus."""
        return self.focus(view) if view.about is None else view.about.strip()

    def _dense_body(self, view: StepView, text: str, scoring: Scoring) -> str | None:
        """The text to embed; None if the recall needs no embedding."""
        compared = self.index.has_meaning(view) and scoring.lexical_share < 1
        if text and scoring.relevance and compared:
            return self.index.ranking.body(text, scoring)
        return None

    def focus(self, view: StepView) -> str:
        """The focus of a recall without a query: the newest observation and the newest
        messages of the step under way, but for the agent's own: what it just said
        would only call up what it has said before. Who spoke counts apart.
        """
        events = self._under_way(view)
        seen = [e for e in events if e.kind == "observation"][-1:]
        noticed = [self._noticed(view, event) for event in seen]
        lines = noticed + [self._words(view, event) for event in self.spoken(view)]
        return "\n".join(filter(None, lines))

    def spoken(self, view: StepView) -> list[MemoryRecord]:
        """The messages that make up the focus, but for the agent's own."""
        me = view.agent.unique_id
        said = [event for event in self._under_way(view) if event.kind == "message"]
        return [event for event in said if event.sender != me][-FOCUS_MESSAGES:]

    def _speakers(
        self, view: StepView, query: str | None, scoring: Scoring
    ) -> list[Any]:
        """Those who speak in the focus and count, without the agent itself."""
        if query is not None or view.about is not None or not scoring.speaker_boost:
            return []
        senders = dict.fromkeys([event.sender for event in self.spoken(view)])
        return [sender for sender in senders if sender is not None]

    def _under_way(self, view: StepView) -> list[MemoryRecord]:
        return [*self.ungraded(), *view.journal.inbox.events()]

    def _words(self, view: StepView, event: MemoryRecord) -> str:
        """An event without its speaker, who counts apart."""
        limit, said = view.limits.event_chars, unsigned(event.kind, event.content)
        return render.event_text(event.kind, said, limit, view.index_voice)

    def _noticed(self, view: StepView, event: MemoryRecord) -> str:
        """The part of an observation in the focus: of a state, a few people."""
        if not is_state(event.kind, event.content):
            return self._words(view, event)
        me = view.agent.unique_id
        met = [i for i in subjects(event.kind, event.content) if i != me]
        names = view.names
        return ", ".join(map(names, met)) if len(met) <= FOCUS_PEOPLE else ""


def chance_of(view: StepView, scoring: Scoring) -> np.random.Generator | None:
    """The random numbers of this step's recalls, if the scoring has noise."""
    noisy = isinstance(scoring, ActR) and scoring.noise
    return draw(view.agent, "recall", view.now) if noisy else None


@cache
def _usual_scoring(asked: bool, decay: float) -> Scoring:
    return Scoring(decay=decay) if asked else Scoring.without_query(decay)
