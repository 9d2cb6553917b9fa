"""What of a stream of events comes to mind, for a query or for the step's own focus."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

from rich.table import Table

from mesa_memory import render
from mesa_memory.embedding import Embedded, EmbedRequest
from mesa_memory.errors import EmbedderError
from mesa_memory.memory.indexing import Indexing
from mesa_memory.recall import Recalled
from mesa_memory.retrieval import Scoring

logger = logging.getLogger(__name__)

#: so many of the newest messages make the focus
FOCUS_MESSAGES = 20


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
        parts = ("relevance", "dense", "lexical", "importance", "recency", "asked")
        table = Table(title=f"Recalled by agent {self.agent.unique_id}")
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
                render.event_text(record.kind, record.content, 200).replace("[", "\\["),
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
        if self._unnoticed:
            scoring = replace(scoring, refresh="off")
        if query is None:  # the focus is what was said, not a question about a time
            scoring = replace(scoring, asked=0.0)
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

    def _note_recall(
        self,
        purpose: str,
        found: Found,
        shown: Callable[[Recalled], bool] = lambda _: True,
    ) -> None:
        """Tells the recorder what came to mind, and what of it was shown."""
        recorder = self.services.recorder
        if recorder and not self._unnoticed:
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
        return "\n".join(
            render.event_text(e.kind, e.content, self.event_chars)
            for e in [*seen, *heard]
        )

    def _vector_of(self, text: str, must: bool) -> Embedded | None:
        """The text's embedding; None if it is not a must and cannot be had now."""
        source = self.services.embedder.name
        if self._asked and self._asked[0] == text and self._asked[1].source == source:
            return self._asked[1]
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
