"""Collects the changes of one model: of its memories, its world and its prompt files.

The simulation's thread collects them, without an object that Python's garbage collector
would have to look through. The writer's thread makes the rows of them; see ``rows``.

Only what has changed since the step before is noted.

An agent may be given another memory in the middle of a run. The records of the former memory
end in the run then, so the agent cannot get that memory back.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from mesa_memory.core.journal import Journal, RecordBus
from mesa_memory.core.records import REPLACED, MemoryRecord, Part
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.wording import Wordings
from mesa_memory.hosts import space as mesa_space
from mesa_memory.memories.host.layer_names import memories_of
from mesa_memory.retrieval.index import ScoredRecord
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.runs.recording.stored import key_of
from mesa_memory.stores import schema
from mesa_memory.stores.base import Batch
from mesa_memory.stores.schema import prompt_files
from mesa_memory.stores.sql import Store


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
            memory.journal.join(self.bus)
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


#: kinds of rows: see ``schema.scenes``
SPACE, PLACES, OUTCOMES, COLLECTED = "space", "places", "outcomes", "collected"
POPULATION = "population"


class WorldLog:
    """Gives the rows of ``scenes`` with the changes of a step."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._space: mesa_space.Space | None = None

    def take_up(self, store: Store, run: int) -> None:
        """Starts from the last rows of a run."""
        table = schema.scenes
        query = sa.select(table.c.kind, table.c.state).filter_by(run=run)
        with store.reading() as on:
            rows = on.execute(query.order_by(table.c.seq)).all()
        self._known = latest(rows)

    def rows(
        self, model: Any, outcomes: Sequence[str], step: float
    ) -> list[dict[str, Any]]:
        """The changes at the end of a step.

        Args:
            model: the Mesa model.
            outcomes: attributes of its agents that are noted.
            step: that has ended.

        Raises:
            TypeError: if such an attribute is not a text, number, True or False.
        """
        found = []
        for kind, now in self._seen(model, outcomes).items():
            before = self._known.get(kind, {})
            news = {key: v for key, v in now.items() if before.get(key, _ABSENT) != v}
            news |= {key: None for key in before if key not in now}
            if news:
                self._known[kind] = now
                found.append({"step": step, "kind": kind, "state": news})
        return found

    def _seen(
        self, model: Any, outcomes: Sequence[str]
    ) -> Mapping[str, dict[str, Any]]:
        agents, space = list(model.agents), self._space_of(model)
        here = {str(agent.unique_id): space.place(agent) for agent in agents if space}
        found = {
            POPULATION: {str(a.unique_id): type(a).__name__ for a in agents},
            SPACE: space.described if space else {},
            PLACES: {name: place for name, place in here.items() if place},
            COLLECTED: mesa_space.collected(model),
        }
        for name in outcomes:
            found[f"{OUTCOMES}/{name}"] = mesa_space.outcomes(agents, name)
        return found

    def _space_of(self, model: Any) -> mesa_space.Space | None:
        """The model's space; only a network changes."""
        thing = mesa_space.space_of(model)
        if thing is None:
            return None
        if self._space is None or not self._space.stays(thing):
            self._space = mesa_space.Space(thing)
        return self._space


#: equals no value
_ABSENT = object()


def latest(rows: Iterable[Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """The last state by kind, from rows of ``scenes`` as (kind, state) in order."""
    found: dict[str, dict[str, Any]] = {}
    for kind, state in rows:
        known = found.setdefault(kind, {})
        for key, value in (state or {}).items():
            if value is None:
                known.pop(key, None)
            else:
                known[key] = value
    return found


#: an agent's unique id as text, and the layer
type Key = tuple[str, str]


class MemoryPresence:
    """The memories that were held at the end of the last step, and those put aside.

    A memory put aside is not changed: its user may still read it. Only its records in
    the run end.

    Args:
        closed: called with each record that has ended.
    """

    def __init__(self, closed: Callable[[MemoryRecord], None]) -> None:
        self._closed = closed
        # Journals do not keep a model alive, memories would.
        self._held: dict[Key, Journal] = {}
        self._aside = WeakKeyDictionary[Journal, None]()  # a set in order
        self._ended = set[str]()  # ids of the records of these

    def meet(self, agent: Any) -> None:
        """Notes the memories of an agent that may be about to get another one."""
        for _, memory in memories_of(agent):
            self._held[_key(memory)] = memory.journal

    def begin_at(self, memories: Mapping[str, Any]) -> None:
        """Restarts from these memories."""
        self._aside.clear()
        self._ended.clear()
        self._held = {_key(memory): memory.journal for memory in memories.values()}

    def has_ended(self, record: MemoryRecord) -> bool:
        """True for a record of a memory put aside, which the run has ended already."""
        return record.id in self._ended

    def compare(self, model: Any, memories: Mapping[str, Any], step: float) -> None:
        """Ends the memories put aside since the last step.

        An agent that has left the model keeps what it held.

        Args:
            memories: held now, see ``layer_names.memories``.
            step: in which the records of other memories end.

        Raises:
            ValueError: if a memory put aside is held again.
        """
        held = {_key(memory): memory.journal for memory in memories.values()}
        before = self._held  # keeps journals of memories that are freed already
        if gone := before.keys() - held.keys():
            here = {str(agent.unique_id) for agent in model.agents}
            for key in sorted(gone):
                if key[0] in here:
                    self._aside[before[key]] = None
        self._held = held
        if self._aside:
            self._end(step, memories)

    def _end(self, step: float, memories: Mapping[str, Any]) -> None:
        for memory in memories.values():
            if memory.journal in self._aside:
                raise ValueError(
                    f"agent {memory.agent.unique_id} holds a memory again that it did "
                    "not hold at the end of an earlier step: the run has ended its "
                    "records. To keep a memory meanwhile, let the agent hold it under "
                    "another name: agent.diary = agent.memory"
                )
        for journal in list(self._aside):
            for record in journal.current():
                if record.id not in self._ended:
                    self._ended.add(record.id)
                    self._closed(
                        replace(record, valid_to=step, closed_because=REPLACED)
                    )


def _key(memory: Any) -> Key:
    return str(memory.agent.unique_id), memory.layer


logger = logger_of(__name__)

#: language and name -> hash of the text
type Hashes = dict[tuple[str, str], str]


class PromptFileLog:
    """Notes which files were used for the first time, or with another text."""

    def __init__(self) -> None:
        self._run: int | None = None
        self._known: Hashes = {}

    def rows(self, recorder: Any, step: float) -> list[dict[str, Any]]:
        """Rows of ``prompt_files`` for what is new; of a model that is gone, none."""
        if recorder.model is None:
            return []
        if self._run != recorder.run:  # a run that goes on has some already
            self._run = recorder.run
            self._known = recorded(recorder.store, self._run)
        found = []
        for wording in recorder.services.wordings.known.values():
            for name in sorted(wording.used):
                file, key = wording.files[name], (wording.language, name)
                if self._known.get(key) == file.hash:
                    continue
                if key in self._known:
                    logger.warning(
                        "the prompt file %s/%s.md is not what it was when the run began; "
                        "its new text is recorded from step %g on",
                        *key,
                        step,
                    )
                self._known[key] = file.hash
                row = {"language": wording.language, "name": name, "step": step}
                found.append(row | {"hash": file.hash, "text": file.text})
        return found


def recorded(store: Store, run: int | None) -> Hashes:
    """The hash of each file that a run has used; of several, the last one."""
    columns = prompt_files.c
    wanted = sa.select(columns.language, columns.name, columns.hash)
    with store.reading() as on:
        rows = on.execute(wanted.filter_by(run=run).order_by(columns.step))
        return {(language, name): found for language, name, found in rows}


def changed_files(store: Store, run: int, wordings: Wordings) -> list[str]:
    """The files of a run whose text is another one now, such as ``"en/grade.md"``."""
    return [
        f"{language}/{name}.md"
        for (language, name), found in sorted(recorded(store, run).items())
        if language in wordings.known
        and (
            (now := wordings.known[language].files.get(name)) is None
            or now.hash != found
        )
    ]
