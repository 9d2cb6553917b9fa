"""Collects the changes in the memories of one model; one append for each.

The simulation's thread collects them, without an object that Python's garbage collector
would have to look through. The writer's thread makes the rows of them; see ``rows``.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mesa_memory.core.records import MemoryRecord, Part, RecordBus
from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import LLMRequest
from mesa_memory.retrieval.index import ScoredRecord
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.runs.recording.vectors import key_of
from mesa_memory.stores.base import Batch


@dataclass(slots=True)
class Changes:
    """All changes, each list in order.

    Attributes:
        rows: what has the form of the store at once, such as interventions; its step is
            set when the changes are written.
    """

    opened: list[MemoryRecord] = field(default_factory=list)
    graded: list[tuple[str, float]] = field(default_factory=list)
    closed: list[MemoryRecord] = field(default_factory=list)
    recalls: list["Recall"] = field(default_factory=list)
    prompts: list[tuple[tuple[int, ...], dict]] = field(default_factory=list)
    calls: list["Call"] = field(default_factory=list)
    answers: list[tuple[str, Any]] = field(default_factory=list)
    vectors: list[tuple[str, Any]] = field(default_factory=list)
    rows: Batch = field(default_factory=lambda: Batch(0))

    @property
    def lasting(self) -> bool:
        """True if a memory has changed."""
        by_hand = self.rows.staled or self.rows.interventions
        return bool(self.opened or self.graded or self.closed or by_hand)


@dataclass(frozen=True, slots=True)
class Recall:
    """The records that a recall found.

    Attributes:
        place: its order among all changes.
        whose: ``agent``, ``layer``, ``step`` and ``purpose``.
        found: best first.
        shown: whether the reader's budget let a record through.
        note: a remark for readers; empty without one.
    """

    place: tuple[int, ...]
    whose: Mapping[str, Any]
    query: str | None
    scoring: Scoring
    found: Sequence[ScoredRecord]
    shown: Callable[[ScoredRecord], bool]
    note: str = ""


@dataclass(slots=True)
class Call:
    """A request and its reply or error.

    Attributes:
        turn: its order among all requests, however long each took.
        reply: None if there was an error.
        replayed: True if the answer came from a recorded run.
        occurrence: 1 for the agent's first request of this purpose at this step; known
            when the step is handed over.
        date: when it was answered, in UTC; empty for answers of this process.
    """

    request: LLMRequest
    turn: tuple[int, ...]
    reply: Reply | None
    error: BaseException | None
    replayed: bool = False
    occurrence: int = 0
    date: str = ""


#: number of newest steps in which occurrences are counted; older work has ended
COUNTED_STEPS = 64


class Collector:
    """Keeps the changes since the last finished step; see ``records.Observer``.

    Attributes:
        muted: while True, no recall, prompt or call is noted.
        bus: reports the records.
        changes: what was noted since the last finished step.
        noted_vectors: keys of the texts whose vectors were noted.
    """

    def __init__(self, bus: RecordBus) -> None:
        self.muted = False
        self.bus = bus
        self.changes = Changes()
        self._counts: dict[float, Counter[tuple]] = {}
        self.noted_vectors: set[str] = set()
        self._inside = itertools.count(1)
        # Records made before a place may be unknown here; those that are not, by id.
        self._since, self._older = 0, set[str]()

    def begin_late(self, memories: Iterable[Any]) -> None:
        """Notes the records that memories held before recording began."""
        memories = list(memories)
        for memory in memories:
            memory.layer_context.log.join(self.bus)
        self._since = self.bus.next_order()
        for memory in memories:
            memory.recount(self)

    def opened(self, record: MemoryRecord) -> None:
        """See ``Observer``."""
        if record.order[0] < self._since:
            self._older.add(record.id)
        self.changes.opened.append(record)
        if record.importance is not None:
            self.graded(record)
        if record.stale_since is not None:
            self.staled(record)

    def graded(self, record: MemoryRecord) -> None:
        """See ``Observer``."""
        self._know(record)
        self.changes.graded.append((record.id, record.importance))  # type: ignore[arg-type]

    def staled(self, record: MemoryRecord) -> None:
        """See ``Observer``."""
        self._know(record)
        self.changes.rows.staled.append((record.id, record.stale_since))  # type: ignore[arg-type]

    def closed(self, record: MemoryRecord) -> None:
        """See ``Observer``; a closed record does not change any more."""
        self._know(record)
        self.changes.closed.append(record)

    def recalled(
        self,
        whose: Mapping[str, Any],
        query: str | None,
        scoring: Scoring,
        found: Sequence[ScoredRecord],
        note: str,
        shown: Callable[[ScoredRecord], bool],
        commit_order: int | None = None,
        part: Part | None = None,
    ) -> None:
        """A recall found records.

        Args:
            whose: ``agent``, ``layer``, ``step`` and ``purpose``.
            found: must not change: it is read later.
            note: a remark for readers; empty without one.
            shown: whether the reader's budget let a record through; asked later.
            commit_order: order of the commitment during which it happened; None is the end.
            part: the layer that recalled, if others think at the same time: its recalls
                stand in the order of the layers, not of the answers.
        """
        if not self.muted:
            what = (whose, query, scoring, found, shown, note)
            place = self._place(commit_order, part)
            self.changes.recalls.append(Recall(place, *what))

    def shown(
        self,
        whose: Mapping[str, Any],
        section: str,
        text: str,
        budget: Mapping[str, Any] | None = None,
    ) -> None:
        """An agent was shown this text of its memory, within this budget if it has one."""
        if self.muted:
            return
        row = dict(whose, agent=str(whose["agent"]), section=section, text=text)
        if budget is not None:
            row["budget"] = budget
        self.changes.prompts.append((self._place(None), row))

    def began(self, request: LLMRequest) -> tuple[int, ...]:
        """A request is about to be answered; its turn among all requests."""
        return request.turn or (self.bus.next_order(),)

    def called(
        self,
        request: LLMRequest,
        turn: tuple[int, ...],
        reply: Reply | None,
        error: BaseException | None,
        replayed: bool,
        live: bool = False,
    ) -> None:
        """A request was answered, or failed.

        Args:
            live: a model outside this process was asked, which may cost money.
        """
        if not self.muted:
            date = datetime.now(UTC).isoformat(timespec="seconds") if live else ""
            call = Call(request, turn, reply, error, replayed, date=date)
            self.changes.calls.append(call)
            if live and reply is not None:
                self.paid(call)

    def paid(self, call: Call) -> None:
        """An answer arrived that must not be requested again."""

    def intervened(self, agent: Any, step: float, kind: str, detail: dict) -> None:
        """A researcher changed a memory by hand."""
        row = {"step": step, "agent": str(agent), "kind": kind, "detail": detail}
        self.changes.rows.interventions.append(row)

    def measured(self, rows: Iterable[dict[str, Any]]) -> None:
        """Measures of the model; rows of ``measures``."""
        self.changes.rows.measures.extend(rows)

    def responded(self, rows: Iterable[dict[str, Any]]) -> None:
        """Answers of agents to a questionnaire; rows of ``responses``."""
        self.changes.rows.responses.extend(rows)

    def published(self, values: Mapping[str, Any]) -> None:
        """Answers shared by many agents; None withdraws one."""
        found = [(key, value) for key, value in values.items() if value is not None]
        self.changes.answers.extend(found)

    def vectors(self, name: str, vectors: Mapping[str, Any]) -> None:
        """An embedder gave vectors for texts; each is noted once."""
        if self.muted:
            return
        for text, vector in vectors.items():
            key = key_of(name, text)
            if key not in self.noted_vectors:
                self.noted_vectors.add(key)
                self.changes.vectors.append((key, vector))

    def _know(self, record: MemoryRecord) -> None:
        """Opens an older record of a memory that no agent held when recording began."""
        if record.order[0] < self._since and record.id not in self._older:
            self.opened(record)

    def _place(
        self, commit_order: int | None, part: Part | None = None
    ) -> tuple[int, ...]:
        if commit_order is None:
            return (self.bus.next_order(), 0)
        # Later than every record made there; of one layer in the order of its recalls.
        return (commit_order, 10**9 + (part.order if part else 0), next(self._inside))

    def taken(self) -> Changes:
        """The changes since the last call; the collector is empty afterwards."""
        changes, self.changes = self.changes, Changes()
        changes.calls.sort(key=lambda call: call.turn)
        for call in changes.calls:
            call.occurrence = self._occurrence(call.request)
        return changes

    def _occurrence(self, request: LLMRequest) -> int:
        """The number of the request among those of its agent, purpose and step."""
        counts = self._counts.get(request.step)
        if counts is None:
            counts = self._counts[request.step] = Counter()
            while len(self._counts) > COUNTED_STEPS:
                del self._counts[min(self._counts)]
        counts[request.agent, request.purpose] += 1
        return counts[request.agent, request.purpose]
