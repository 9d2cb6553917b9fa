"""The recalls of one memory, at once or awaited in an event loop."""

from collections.abc import Iterable, Sequence
from typing import Any

from mesa_memory.core.embedding import Embedded
from mesa_memory.core.requests import Flow
from mesa_memory.layers.flags import EMBEDDED
from mesa_memory.layers.stream.recalling import Query, RecallResult, Recollection
from mesa_memory.retrieval.index import ScoredRecord
from mesa_memory.retrieval.scoring import Scoring

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


class RecallService:
    """Answers the requests of recalls, and foresees what they will be about.

    Args:
        memory: whose recalls these are.
        ranker: ranks what it remembers.

    Attributes:
        ranker: as given.
    """

    def __init__(self, memory: Any, ranker: Recollection) -> None:
        self._memory, self.ranker = memory, ranker
        self._foreseen: str | None = None  # the newest observation that was awaited

    def noted(
        self,
        purpose: str,
        query: str | None,
        k: int | None,
        scoring: Scoring | None = None,
        **filters: Any,
    ) -> RecallResult:
        """The records recalled now; the recorder is told."""
        self.ranker.index.refresh()
        if filters.get("subject") is not None:
            names = self._memory.layer_context.names
            filters["subject"] = names.unique_id(filters["subject"])
        found = self.ranker.find(query, k, self.vector_of, scoring, **filters)
        self._memory.layer_context.runtime.note_recall(purpose, found)
        return found

    async def aprepare(self, kind: str, once: bool = False) -> None:
        """Embeds what the next recall without a query will be about.

        More may come meanwhile. Its awaiter continues as soon as it is done, and
        may then read before anything else happens.

        Args:
            kind: of the event that has come.
            once: do not wait for what comes meanwhile.
        """
        if kind != "observation":
            return
        runtime = self._memory.layer_context.runtime
        able = not runtime.embeds_here
        while able:
            able = await runtime.arun(self._prepare())
            if once or self._prepared():
                break
        with self._memory.exclusive():
            self._foreseen = self.ranker.newest_seen()

    async def arecall(self, query: str | None, k: int | None) -> list[ScoredRecord]:
        """The memory's ``recall``, for event loops: work and embedder are awaited."""
        with EMBEDDED.on(self.ranker, await self.foresee(query, None)):
            return self._memory.recall(query, k)

    def _prepare(self) -> Flow[bool]:
        """Returns False if it is not possible now."""
        body = self._to_embed(None, None)
        if body is None or self.ranker.known_vector(body) is not None:
            return True
        return (yield from self.ranker.embed_query(body, False)) is not None

    def _prepared(self) -> bool:
        """True if a recall without a query would not wait."""
        body = self._to_embed(None, None)
        return body is None or self.ranker.known_vector(body) is not None

    def _to_embed(self, query: str | None, scoring: Scoring | None) -> str | None:
        """The text that a recall at this moment would embed."""
        with self._memory.exclusive():
            return self.ranker.to_embed(query, scoring)

    async def foresee(self, query: str | None, scoring: Scoring | None) -> Query | None:
        """The vector for a recall at this moment; None if it needs none, or has it."""
        await self._memory.asettle()
        runtime, ranker = self._memory.layer_context.runtime, self.ranker
        asked: Query | None = None
        while not runtime.embeds_here:
            body = self._to_embed(query, scoring)
            if body is None or (asked and asked[0] == body):
                break
            known = ranker.known_vector(body)
            if known is None:
                flow = ranker.embed_query(body, must=query is not None)
                known = await runtime.arun(flow)
            asked = body, known
        return asked

    def vector_of(self, text: str, must: bool) -> Embedded | None:
        """The text's embedding; None if it is not a must and cannot be had now.

        In an event loop all others wait as long as this does, so there an observation
        that was not awaited counts by its words.
        """
        runtime, ranker = self._memory.layer_context.runtime, self.ranker
        known = ranker.known_vector(text)
        if known is not None:
            return known
        flow = ranker.embed_query(text, must)
        if runtime.embeds_here or not runtime.in_event_loop:
            return runtime.run(flow)
        if ranker.tried(text, must):
            return None  # it was awaited, and did not come
        if self._memory.steps_awaited():
            if not must and ranker.newest_seen() != self._foreseen:
                self._say_once(BY_WORDS_HERE)
                return None
            self._say_once(WAITED)
        return runtime.run_elsewhere(flow)

    def _say_once(self, text: str) -> None:
        context = self._memory.layer_context
        name = context.names(context.agent.unique_id)
        self._memory.services.say_once(text, name)


async def aprepare_all(several: Iterable[RecallService], kind: str, once: bool) -> None:
    """``RecallService.aprepare`` of all streams of one memory."""
    for recalls in several:
        await recalls.aprepare(kind, once)


async def arecall(
    memory: Any,
    several: Sequence[RecallService],
    query: str | None,
    k: int | None,
    scoring: Scoring | None = None,
    **filters: Any,
) -> Any:
    """``memory.recall``, with the vector that its first stream needs awaited before."""
    await memory.asettle()
    if not several:
        return memory.recall(query, k, scoring, **filters)
    known = await several[0].foresee(query, scoring)
    with EMBEDDED.on(several[0].ranker, known):
        return memory.recall(query, k, scoring, **filters)
