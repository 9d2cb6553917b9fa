"""What of a stream of events comes to mind, for a query or for the step's own focus.

Both are embedded. Where the embedder is elsewhere, agents in an event loop await it:
``arecall`` awaits its query, and the focus is embedded once an observation was awaited,
so that the read that follows has its vector already. The ranking is that of a run
without an event loop, unless a recall says that it was made by words alone.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

from rich.table import Table

from mesa_memory.core import render
from mesa_memory.core.embedding import Embedded, EmbedRequest
from mesa_memory.core.events import is_state
from mesa_memory.core.flow import arun, run
from mesa_memory.core.participants import subjects
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.redaction import logger as logger_of
from mesa_memory.core.requests import Flow
from mesa_memory.errors import EmbedderError
from mesa_memory.memories.doing import EMBEDDED, UNNOTICED, whole
from mesa_memory.memories.indexing import Indexing
from mesa_memory.retrieval.index import Recalled
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.runtime.loop import background, elsewhere, in_event_loop

logger = logger_of(__name__)

#: so many of the newest messages make the focus
FOCUS_MESSAGES = 20
#: more than so many in sight are a crowd, which brings nobody to mind
FOCUS_PEOPLE = 5
#: what a recall says if its query has no vector
BY_WORDS = "by words alone: the query was not embedded"

#: said once in a run, with the agent's name
BY_WORDS_HERE = (
    "%s added an observation with add_to_memory inside its astep and then read its "
    "memory: it could not be embedded in between without holding up all other agents, "
    "so this recall is ranked by words alone, unlike that of a synchronous run. Await "
    "aadd_to_memory or agenerate_obs instead, or ask with arecall. This is said once; "
    "the record says it of each such recall."
)
WAITED = (
    "%s recalled something inside its astep that was not embedded yet, and all other "
    "agents waited for the embedder. Await arecall, aexplain or "
    "aretrieve_top_k_entries instead. This is said once in a run."
)

#: a text, and its embedding; None if it could not be had
type Query = tuple[str, Embedded | None]


class RecallResult(NamedTuple):
    """What a recall found, and for what query and scoring.

    Attributes:
        note: what else there is to say of it; empty if nothing.
    """

    query: str | None
    scoring: Scoring
    records: list[Recalled]
    note: str = ""

    def own(self) -> list[Recalled]:
        """The records, for a reader who may change them."""
        return [each._replace(parts=each.parts.copy()) for each in self.records]


class Recalling(Indexing):
    """A memory whose entries, one for each event, are ranked for a query.

    Attributes:
        scoring: how, if a recall does not say; None is ``Scoring()``.
    """

    considered_entries = 30
    recency_decay = 0.995
    scoring: Scoring | None = None
    _asked: dict[bool, Query]  # the last question (True), and the last focus
    _foreseen: str | None  # the newest observation that was awaited

    def __new__(cls, *args: Any, **kwargs: Any) -> "Recalling":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._asked = {}
        self._foreseen = None
        return self

    # -- reading ------------------------------------------------------------------

    def recall(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        kinds: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
        subject: Any = None,
    ) -> list[Recalled]:
        """What comes to mind, best first, with the parts of its score.

        Args:
            query: what it is about; None takes the step's focus: the newest observation
                and the messages that are not graded yet. Without either, importance and
                recency count alone.
            k: at most so many; None is ``considered_entries``.
            scoring: by default the memory's own.
            kinds: only events of these kinds, such as ``["message"]``.
            since, until: only events of these steps, both included.
            subject: only events about the agent with this unique id, and no other: what
                it said, what it alone was told, and when it alone was seen.

        Raises:
            EmbedderError: if the query cannot be embedded.
            ValueError: if k is negative.
            TypeError: if query or scoring is of another type.
        """
        filters = {"kinds": kinds, "since": since, "until": until, "subject": subject}
        found = self._recalled(query, k, scoring, **filters)
        # What is noted is written later.
        return found.own() if self.services.recorder else found.records

    async def arecall(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        kinds: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
        subject: Any = None,
    ) -> list[Recalled]:
        """``recall``, for event loops: work and embedder are awaited.

        What several agents ask at the same moment is embedded in one request.
        """
        with EMBEDDED.on(self, await self._foresee(query, scoring)):
            return self.recall(query, k, scoring, kinds, since, until, subject)

    def explain(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> Table:
        """``recall`` as a table to print with rich."""
        found = self._recalled(query, k, scoring, **filters)
        added = [term.name for term in found.scoring.terms]
        usual = ("relevance", "dense", "lexical", "importance", "recency", "asked")
        parts = (*usual, *added)
        title = f"Recalled by {self._names(self.agent.unique_id)}"
        table = Table(title=title, caption=found.note or None)
        for heading in ("rank", "score", *parts, "step"):
            table.add_column(heading, justify="right")
        table.add_column("event")
        for recalled in found.records:
            numbers = [recalled.score, *(recalled.parts[part] for part in parts)]
            record = recalled.record
            table.add_row(
                str(recalled.rank),
                *(f"{number:.3f}" for number in numbers),
                render.value_text(record.step),
                render.event_text(
                    record.kind, record.content, 200, self._names
                ).replace("[", "\\["),
            )
        return table

    async def aexplain(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> Table:
        """``explain``, for event loops."""
        with EMBEDDED.on(self, await self._foresee(query, scoring)):
            return self.explain(query, k, scoring, **filters)

    def prepare(self) -> Flow[bool]:
        """Embeds what the next recall without a query will be about."""
        body = self._to_embed(None, None)
        if body is None or self._known_vector(body) is not None:
            return True
        return (yield from self._embed_query(body, must=False)) is not None

    def prepared(self) -> bool:
        """See ``MemoryModule``."""
        body = self._to_embed(None, None)
        return body is None or self._known_vector(body) is not None

    @whole
    def _recalled(
        self,
        query: str | None,
        k: int | None,
        scoring: Scoring | None,
        **filters: Any,
    ) -> RecallResult:
        self._take_in()
        found = self._recall(query, k, scoring, **filters)
        self._note_recall("query", found)
        return found

    def _recall(
        self,
        query: str | None,
        k: int | None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> RecallResult:
        """``recall`` over what is in the index; not yet noted."""
        text, scoring = self._meant(query, scoring)
        if UNNOTICED.of(self):
            scoring = replace(scoring, refresh="off")
        if query is None and not filters.get("kinds"):
            filters["without"] = [*filters.get("without", ()), *self._dumps()]
        body = self._dense_body(text, scoring)
        asked = None
        if body is not None:
            asked = self._vector_of(body, must=query is not None)
        found = self._index.recall(
            text or None,
            self.considered_entries if k is None else k,
            vector=asked.vectors[0] if asked else None,
            source=asked.source if asked else "",
            scoring=scoring,
            now=self._now(),
            **filters,
        )
        note = BY_WORDS if body is not None and asked is None else ""
        return RecallResult(text or None, scoring, found, note)

    def _meant(self, query: Any, scoring: Any) -> tuple[str, Scoring]:
        """What a recall is about, and how it scores."""
        if not isinstance(query, str | None):
            raise TypeError(f"query must be a text or None, got {query!r}")
        if not isinstance(scoring, Scoring | None):
            raise TypeError(f"scoring must be a Scoring or None, got {scoring!r}")
        text = self._focus() if query is None else query.strip()
        scoring = scoring or self.scoring or self._usual(bool(text))
        if query is None:  # the focus is what was said, not a question about a time
            scoring = replace(scoring, asked=0.0)
        return text, scoring

    def _dense_body(self, text: str, scoring: Scoring) -> str | None:
        """What of it is embedded; None if its words alone are asked for, or nothing."""
        if text and scoring.relevance and scoring.lexical_share < 1:
            return self._index.body(text, scoring)
        return None

    def _to_embed(self, query: str | None, scoring: Scoring | None) -> str | None:
        """What of a recall at this moment would be embedded."""
        with self._lock:
            self._take_in()
            return self._dense_body(*self._meant(query, scoring))

    def _note_recall(
        self,
        purpose: str,
        found: RecallResult,
        shown: Callable[[Recalled], bool] = lambda _: True,
    ) -> None:
        """Tells the recorder what came to mind, and what of it was shown."""
        recorder = self.services.recorder
        if recorder and not UNNOTICED.of(self):
            among = self._settling and self._settling.place
            recorder.recalled(self._whose(purpose=purpose), *found, shown, among)

    def _usual(self, asked: bool) -> Scoring:
        if asked:
            return Scoring(decay=self.recency_decay)
        return Scoring.without_query(self.recency_decay)

    def _focus(self) -> str:
        """The newest observation and the newest messages of the step under way."""
        events = self._under_way()
        seen = [e for e in events if e.kind == "observation"][-1:]
        heard = [e for e in events if e.kind == "message"][-FOCUS_MESSAGES:]
        lines = [self._noticed(e) for e in seen] + [self._told(e) for e in heard]
        return "\n".join(line for line in lines if line)

    def _under_way(self) -> list[MemoryRecord]:
        events = [e for entry in self._ungraded() for e in entry.events]
        return events + self._staging.events()

    def _newest_seen(self) -> str | None:
        """The id of the newest observation of the step under way."""
        with self._lock:
            seen = [e.id for e in self._under_way() if e.kind == "observation"]
        return seen[-1] if seen else None

    def _noticed(self, event: MemoryRecord) -> str:
        """What of an observation brings something to mind: of a state, few people."""
        if not is_state(event.kind, event.content):
            return self._told(event)
        me = self.agent.unique_id
        met = [i for i in subjects(event.kind, event.content) if i != me]
        return ", ".join(map(self._names, met)) if len(met) <= FOCUS_PEOPLE else ""

    async def _aprepare(self, kind: str, once: bool = False) -> None:
        await super()._aprepare(kind, once)
        if kind == "observation":
            self._foreseen = self._newest_seen()

    async def _foresee(
        self, query: str | None, scoring: Scoring | None
    ) -> Query | None:
        """The vector for a recall at this moment; None if it needs none, or has it."""
        if not UNNOTICED.of(self):
            self._commit_finished(self._now())
        await self._work.asettle()
        asked: Query | None = None
        while not self.services.embeds_here:
            body = self._to_embed(query, scoring)
            if body is None or (asked and asked[0] == body):
                break
            known = self._known_vector(body)
            if known is None:
                flow = self._embed_query(body, must=query is not None)
                going_on = background.submit(arun(flow, self._performer()))
                known = await asyncio.wrap_future(going_on)
            asked = body, known
        return asked

    def _embed_query(self, text: str, must: bool) -> Flow[Embedded | None]:
        """The text's embedding; None if it is not a must and cannot be had now."""
        try:
            embedded = yield EmbedRequest((text,), self.agent.unique_id, self._now())
        except EmbedderError as error:
            if must or not error.passing:
                raise
            logger.warning("%s; recalled by words alone", str(error))
            embedded = None
        self._asked[must] = text, embedded
        return embedded

    def _vector_of(self, text: str, must: bool) -> Embedded | None:
        """The text's embedding; None if it is not a must and cannot be had now.

        In an event loop all others wait as long as this does, so there an observation
        that nobody awaited counts by its words.
        """
        known = self._known_vector(text)
        if known is not None:
            return known
        flow = self._embed_query(text, must)
        if self.services.embeds_here or not in_event_loop():
            return run(flow, self._performer())
        given = EMBEDDED.of(self) or self._asked.get(must)
        if given == (text, None):
            return None  # it was awaited in vain
        if self._steps_awaited():
            if not must and self._newest_seen() != self._foreseen:
                self._say_once(BY_WORDS_HERE)
                return None
            self._say_once(WAITED)
        return elsewhere(run, flow, self._performer())

    def _known_vector(self, text: str) -> Embedded | None:
        """The embedding of a text, if it is among the last that were made."""
        source = self.services.embedder.name
        for asked in (EMBEDDED.of(self), *self._asked.values()):
            if asked and asked[0] == text and asked[1] and asked[1].source == source:
                return asked[1]
        return None

    def _say_once(self, text: str) -> None:
        self.services.say_once(text, self._names(self.agent.unique_id))
