"""What of a stream of events comes to mind, for a query or for the step's own focus."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

from rich.table import Table

from mesa_memory import render
from mesa_memory.background import in_event_loop
from mesa_memory.effects import Steps
from mesa_memory.embedding import Embedded, EmbedRequest
from mesa_memory.errors import EmbedderError
from mesa_memory.events import is_state
from mesa_memory.memory.doing import UNNOTICED
from mesa_memory.memory.indexing import Indexing
from mesa_memory.recall import Recalled
from mesa_memory.records import MemoryRecord
from mesa_memory.redaction import logger as logger_of
from mesa_memory.retrieval import Scoring
from mesa_memory.subjects import subjects

logger = logger_of(__name__)

#: so many of the newest messages make the focus
FOCUS_MESSAGES = 20
#: more than so many in sight are a crowd, which brings nobody to mind
FOCUS_PEOPLE = 5


class Found(NamedTuple):
    """What a recall found, and for what query and scoring."""

    query: str | None
    scoring: Scoring
    records: list[Recalled]

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
    _asked: tuple[str, Embedded] | None

    def __new__(cls, *args: Any, **kwargs: Any) -> "Recalling":
        """See ``MemoryModule``."""
        self = super().__new__(cls, *args, **kwargs)
        self._asked = None
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
        self._settled()
        self._take_in()
        filters = {"kinds": kinds, "since": since, "until": until, "subject": subject}
        found = self._recall(query, k, scoring, **filters)
        self._note_recall("query", found)
        # What is noted is written later.
        return found.own() if self.services.recorder else found.records

    def explain(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> Table:
        """``recall`` as a table to print with rich."""
        found = self.recall(query, k, scoring, **filters)
        used = scoring or self.scoring
        added = [term.name for term in used.terms] if used else []
        usual = ("relevance", "dense", "lexical", "importance", "recency", "asked")
        parts = (*usual, *added)
        table = Table(title=f"Recalled by {self._names(self.agent.unique_id)}")
        for heading in ("rank", "score", *parts, "step"):
            table.add_column(heading, justify="right")
        table.add_column("event")
        for recalled in found:
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

    def _recall(
        self,
        query: str | None,
        k: int | None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> Found:
        """``recall`` over what is in the index; not yet noted."""
        if not isinstance(query, str | None):
            raise TypeError(f"query must be a text or None, got {query!r}")
        if not isinstance(scoring, Scoring | None):
            raise TypeError(f"scoring must be a Scoring or None, got {scoring!r}")
        text = self._focus() if query is None else query.strip()
        scoring = scoring or self.scoring or self._usual(bool(text))
        if UNNOTICED.of(self):
            scoring = replace(scoring, refresh="off")
        if query is None:  # the focus is what was said, not a question about a time
            scoring = replace(scoring, asked=0.0)
            if not filters.get("kinds"):
                filters["without"] = [*filters.get("without", ()), *self._dumps()]
        asked = None
        if text and scoring.relevance and scoring.lexical_share < 1:
            body = self._index.body(text, scoring)
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
        return Found(text or None, scoring, found)

    def prepare(self) -> Steps[None]:
        """Embeds what the next recall without a query will be about."""
        with self._lock:
            text = self._focus()
            scoring = self.scoring or self._usual(bool(text))
            if not (text and scoring.relevance and scoring.lexical_share < 1):
                return
            body = self._index.body(text, scoring)
        if self._known_vector(body) is not None:
            return
        try:
            embedded = yield EmbedRequest((body,), self.agent.unique_id, self._now())
        except EmbedderError as error:
            if not error.passing:
                raise
            logger.warning("%s; recalled by words alone", str(error))
        else:
            self._asked = (body, embedded)

    def _note_recall(
        self,
        purpose: str,
        found: Found,
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
        events = [e for entry in self._ungraded() for e in entry.events]
        events += self._staging.events()
        seen = [e for e in events if e.kind == "observation"][-1:]
        heard = [e for e in events if e.kind == "message"][-FOCUS_MESSAGES:]
        lines = [self._noticed(e) for e in seen] + [self._told(e) for e in heard]
        return "\n".join(line for line in lines if line)

    def _noticed(self, event: MemoryRecord) -> str:
        """What of an observation brings something to mind: of a state, few people."""
        if not is_state(event.kind, event.content):
            return self._told(event)
        me = self.agent.unique_id
        met = [i for i in subjects(event.kind, event.content) if i != me]
        return ", ".join(map(self._names, met)) if len(met) <= FOCUS_PEOPLE else ""

    def _vector_of(self, text: str, must: bool) -> Embedded | None:
        """The text's embedding; None if it is not a must and cannot be had now.

        In somebody's event loop nobody else could go on meanwhile, so what it is about
        is then what was foreseen last, see ``prepare``; what came since counts by its
        words.
        """
        known = self._known_vector(text)
        if known is not None:
            return known
        if not must and not self.services.embeds_here and in_event_loop():
            return self._known_vector(None)
        request = EmbedRequest((text,), self.agent.unique_id, self._now())
        try:
            embedded = self.services.embed(request)
        except EmbedderError as error:
            if must or not error.passing:
                raise
            logger.warning("%s; recalled by words alone", str(error))
            return None
        self._asked = (text, embedded)
        return embedded

    def _known_vector(self, text: str | None) -> Embedded | None:
        """The embedding of a text, or of any, if it is the last one that was made."""
        asked, source = self._asked, self.services.embedder.name
        if asked is None or asked[1].source != source or text not in (None, asked[0]):
            return None
        return asked[1]
