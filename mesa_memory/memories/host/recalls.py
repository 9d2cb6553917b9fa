"""Recall: at once or awaited in an event loop, by rankers or by words alone."""

from collections.abc import Callable, Collection, Coroutine
from typing import Any

from rich.table import Table

from mesa_memory.core import render
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.requests import Embedded
from mesa_memory.core.statement import also_said
from mesa_memory.core.text.vocabulary import vocabulary
from mesa_memory.core.wording import Voice
from mesa_memory.errors import StudyError
from mesa_memory.layers.stream.recalling import (
    Query,
    RecallResult,
    Recollection,
    chance_of,
)
from mesa_memory.layers.view import StepView, reading
from mesa_memory.memories.host.reads import prepare_reads
from mesa_memory.retrieval.activation import not_recalled
from mesa_memory.retrieval.index import RecordIndex, ScoredRecord
from mesa_memory.retrieval.scoring import Scoring

#: the parts of every score; a scoring's own terms follow
USUAL_PARTS = ("relevance", "importance", "recency")
#: and parts that count now and then; ``explain`` has them if one is not 0
SCORE_PARTS = (*USUAL_PARTS, "time_match", "superseded", "question")
#: records given if a search by words does not say
FOUND_RECORDS = 30


class RecallService:
    """Answers the requests of recalls, and embeds their queries in advance.

    Args:
        memory: whose recalls these are.
        ranker: ranks what it remembers.

    Attributes:
        ranker: as given.
    """

    def __init__(self, memory: Any, ranker: Recollection) -> None:
        self._memory, self.ranker = memory, ranker
        ranker.vector_of = self.vector_of

    def recall_recorded(
        self,
        purpose: str,
        query: str | None,
        k: int | None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> RecallResult:
        """The records recalled now; the recorder is told."""
        view = self._memory.view()
        self.ranker.index.refresh(view)
        if filters.get("subject") is not None:
            filters["subject"] = view.names.unique_id(filters["subject"])
        found = self.ranker.find(view, query, k, scoring, **filters)
        view.note_recall(purpose, found)
        return found

    async def prefetch(
        self, query: str | None, scoring: Scoring | None, once: bool = False
    ) -> Query | None:
        """The vector for a recall at this moment; None if it needs none, or has it.

        More may come meanwhile. Its awaiter continues as soon as it is done, and
        may then read before anything else happens.

        Args:
            query, scoring: see ``RecallMixin.recall``.
            once: do not wait for what comes meanwhile.
        """
        memory, ranker = self._memory, self.ranker
        asked: Query | None = None
        while not memory.services.embeds_here:
            view = memory.view()
            with memory.exclusive():
                body = ranker.to_embed(view, query, scoring)
            if body is None or (asked and (once or asked[0] == body)):
                break
            known = ranker.known_vector(view, body)
            if known is None:
                flow = ranker.embed_query(view, body, must=query is not None)
                known = await memory.arun(flow)
            asked = body, known
        return asked

    def vector_of(self, view: StepView, text: str, must: bool) -> Embedded | None:
        """Embeds a text; None if it is not a must and cannot be had now.

        In an event loop all others wait as long as this does.
        """
        memory, ranker = self._memory, self.ranker
        flow = ranker.embed_query(view, text, must)
        if view.services.embeds_here or not memory.in_event_loop:
            found: Embedded | None = memory.run(flow)
            return found
        if ranker.tried(view, text, must):
            return None  # it was awaited, and did not come
        return memory.run_aside(flow)  # type: ignore[no-any-return]


class RecallMixin:
    """The recalls of a memory, synchronous or awaited.

    A memory inherits from it before ``MemoryModule``. It sets ``_recalls``, or overrides
    ``rankers``.
    """

    view: Callable[..., StepView]
    agent: Any
    services: Any
    asettle: Callable[..., Coroutine[Any, Any, None]]
    held_records: Callable[[], list[MemoryRecord]]
    shown_instead: Any
    _recalls: Any

    def rankers(self) -> list[RecallService]:
        """The recalls of its layers; the first answers queries."""
        return [self._recalls]

    def instant(self) -> bool:
        """See ``MemoryModule``; embedding alone may take time, too."""
        here = not self.rankers() or self.services.embeds_here
        return here and super().instant()  # type: ignore[misc]

    def recall(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        kinds: Collection[str] | None = None,
        since: float | None = None,
        until: float | None = None,
        subject: Any = None,
    ) -> list[ScoredRecord]:
        """The recalled records, best first, with the parts of their scores.

        Args:
            query: what it is about; None takes the memory's focus: with episodic memory
                the newest observation and the messages that are not graded yet (without
                either, importance and recency count alone), with conversations the last
                lines of dialogue.
            k: the most records to give; None is what the memory recalls for a prompt.
            scoring: by default the memory's own.
            kinds: only events of these kinds, such as ``["message"]``.
            since, until: only events of these steps, both included.
            subject: only events about this agent (or unique id), and no other: what it
                said, what it alone was told, and when it alone was seen.

        Raises:
            EmbedderError: if the query cannot be embedded.
            ValueError: if k is negative.
            TypeError: if query or scoring is of another type.
            StudyError: if the agent is shown a placebo, unless within ``peek``.
        """
        if getattr(self.shown_instead, "masks", False) and not self.view().unnoticed:
            raise StudyError(
                f"recall() would show agent {self.agent.unique_id} the truth, and it is "
                f"shown a {self.shown_instead}: decide from get_prompt_ready() or "
                "search_memories(), which are masked, or observe within memory.peek()"
            )
        filters = {"kinds": kinds, "since": since, "until": until, "subject": subject}
        found = self.search(query, k, scoring, **filters).records
        # What was recorded stays as it is, whatever the reader does.
        return [each._replace(parts=each.parts.copy()) for each in found]

    async def arecall(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> list[ScoredRecord]:
        """``recall``, for event loops: work and embedder are awaited.

        What several agents ask at the same moment is embedded in one request.
        """
        await self.asettle(recall=True)
        if not (several := self.rankers()):
            return self.recall(query, k, scoring, **filters)
        known = await several[0].prefetch(query, scoring)
        with reading(self, embedded=known):
            return self.recall(query, k, scoring, **filters)

    def explain(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> Table:
        """``recall`` as a table to print with rich."""
        found = self.search(query, k, scoring, **filters)
        view = self.view()
        title = f"Recalled by {view.names(self.agent.unique_id)}"
        return as_table(found, title, view.voice)

    def search(
        self,
        query: str | None = None,
        k: int | None = None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> RecallResult:
        """``recall`` with its scoring, and whether nothing fits the query."""
        for recalls in self.rankers():
            return recalls.recall_recorded("query", query, k, scoring, **filters)
        return by_words(self, query, k, scoring, **filters)

    async def aprepare(self, kind: str, once: bool = False) -> None:
        """See ``MemoryModule``; embeds the focus of the next recall without a query."""
        for recalls in self.rankers() if kind == "observation" else ():
            await recalls.prefetch(None, None, once)


prepare_reads(RecallMixin)


def as_table(found: RecallResult, title: str, voice: Voice) -> Table:
    """The recalled records, with the parts that their scores add up, as a table for rich."""
    scoring = found.scoring
    parts = {
        name: getattr(scoring, name, 0.0)
        for name in SCORE_PARTS
        if name in USUAL_PARTS or any(each.parts[name] for each in found.records)
    } | {term.name: term.weight for term in getattr(scoring, "terms", ())}
    added = " + ".join(f"{weight:g} {name}" for name, weight in parts.items())
    caption = "\n".join(filter(None, (f"score = {added}", found.note)))
    table = Table(title=title, caption=caption)
    for heading in ("rank", "score", *parts, "step"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("event")
    for recalled in (*found.records, *found.forgotten):
        numbers = [recalled.score, *(recalled.parts[part] for part in parts)]
        record = recalled.record
        told = render.event_text(record.kind, record.content, 200, voice)
        if recalled in found.forgotten:
            told = f"({not_recalled(recalled.score, scoring.least)}) {told}"
        others = [(each.sender, each.step) for each in recalled.repetitions]
        also = also_said(recalled.times, others, voice) if recalled.times > 1 else ""
        table.add_row(
            str(recalled.rank),
            *(f"{number:.3f}" for number in numbers),
            render.value_text(record.step),
            f"{told} {also}".rstrip().replace("[", "\\["),
        )
    return table


def by_words(
    memory: Any,
    query: str | None,
    k: int | None = None,
    scoring: Scoring | None = None,
    **filters: Any,
) -> RecallResult:
    """The current records of a memory that match a text best, best first.

    Args:
        memory: one of this package.
        query: None or an empty text ranks by recency and importance.
        k: at most ``k`` of them; None is 30.
        **filters: see ``RecordIndex.recall``.

    Raises:
        ValueError: if k is negative.
        TypeError: if query or scoring is of another type.
    """
    view = memory.view()
    index = RecordIndex(vocabulary(view.wording.language))
    for record in memory.current_records():
        index.add(record, text_of(record, view))
    chosen = scoring or (Scoring() if query else Scoring.without_query())
    limit = FOUND_RECORDS if k is None else k
    if filters.get("subject") is not None:
        filters["subject"] = view.names.unique_id(filters["subject"])
    asked = {"scoring": chosen, "now": view.now, **filters}
    asked["chance"] = chance_of(view, chosen)
    found = index.search(query or None, limit, **asked)
    return RecallResult.of(query or None, chosen, found)


def text_of(record: MemoryRecord, view: StepView) -> str:
    """A record on one line: an event as agents are shown it, else its text."""
    if record.origin == DERIVED and isinstance(record.content.get("text"), str):
        return render.one_line(record.content["text"])
    return view.own_line(record)
