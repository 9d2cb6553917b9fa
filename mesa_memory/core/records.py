"""The one record type: everything an agent remembers, with its lifetime.

A record belongs to one agent and one layer, was made at a step, names the records it
came from, and is current from ``valid_from`` until ``valid_to``. Changing a memory
closes one record and opens another, so history, audit and time travel read the same
table. Ids count up per agent, layer and kind: no clock, no random numbers.
"""

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol

from mesa_memory.core.evidence import Evidence, successors

#: where a record came from: it happened to its agent, a memory made it, or somebody
#: carried it in by hand
EVENT, DERIVED, IMPORTED = ORIGINS = "event", "derived", "imported"
#: why a record's lifetime ended; what its memory no longer holds is evicted
EVICTED, CONSOLIDATED, SUPERSEDED = "evicted", "consolidated", "superseded"
#: a statement was not worth keeping
REFUSED = "refused"
#: a conclusion that its memory does not draw any more, and nothing took its place
WITHDRAWN = "withdrawn"
#: its memory was put aside: the agent was given another one
REPLACED = "replaced"
#: by hand
ERASED, EDITED, EXCHANGED = "erased", "edited", "exchanged"
#: records removed by hand are no longer used, but stay in the recording
BY_HAND = (ERASED, EDITED, EXCHANGED)
#: all reasons; of several layers that give one, the last in this order counts
REASONS = (
    EVICTED, REFUSED, WITHDRAWN, REPLACED, EXCHANGED, EDITED, ERASED, CONSOLIDATED, SUPERSEDED,
)  # fmt: skip
#: reasons for which what rests on a record does not hold any more, either
_WRONG = (ERASED, EDITED, WITHDRAWN)
#: most records that one layer makes in a run; what comes later stands after them
PART_SIZE = 10**6


@dataclass(slots=True, eq=False)
class MemoryRecord:
    """One thing an agent remembers.

    Attributes:
        id: unique in the run: ``"agent/layer/kind/number"``; in a memory with several
            layers ``"agent/memory/layer/kind/number"``.
        agent: unique id of the owner.
        layer: the memory that keeps it, such as ``"stlt"``.
        kind: ``"observation"``, ``"message"``, … for events; ``"summary"``,
            ``"impression"`` for what a memory made of them.
        step: the model's clock when it arrived or was made.
        content: plain data (see ``content.plain``).
        importance: 1 (irrelevant) to 5 (critical); None while not graded.
        subject: unique id of the one other agent it is about; None without one, or
            several.
        sources: ids of the records it was made from, oldest first.
        origin: ``"event"`` if it happened to the agent, ``"derived"`` if a memory made
            it, ``"imported"`` if ``implant``, ``biography``, ``exchange`` or
            ``carry_over`` did.
        valid_from, valid_to: the steps between which it was current; None is open.
        closed_because: ``"evicted"``, ``"consolidated"``, ``"superseded"``,
            ``"refused"``, ``"withdrawn"``, ``"replaced"``, ``"erased"``, ``"edited"``,
            ``"exchanged"`` or None.
        superseded_by: id of the record that took its place.
        order: where it stands among all records of the run, lower is earlier. What a
            memory made of a step stands where that step was committed, however long the
            work took, so the order is the same in every execution.
        stale_since: the step since when something that it rests on does not hold any
            more; None if all does.
        told: its text, made once for each voice; see ``render.told``. No copy has it.
    """

    id: str
    agent: Any
    layer: str
    kind: str
    step: float
    content: dict[str, Any]
    importance: float | None = None
    subject: Any = None
    sources: tuple[str, ...] = ()
    origin: str = EVENT
    valid_from: float = field(default=0)
    valid_to: float | None = None
    closed_because: str | None = None
    superseded_by: str | None = None
    order: tuple[int, int] = (0, 0)
    stale_since: float | None = None
    told: dict[bool | None, Any] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """All but the text, which belongs to the names of one model."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        return None, {**kept, "told": {}}

    @property
    def number(self) -> int:
        """Its number among the memory's records of its kind, from 1."""
        return int(self.id.rpartition("/")[2])

    @property
    def series(self) -> str:
        """The series of its number: its kind, or its layer and its kind."""
        return self.id[len(f"{self.agent}/{self.layer}/") :].rpartition("/")[0]

    @property
    def sender(self) -> Any:
        """Whom the content names as its ``sender``, as a message does; None without one."""
        said = self.content if isinstance(self.content, Mapping) else {}
        return said.get("sender")

    @property
    def part(self) -> "Part | None":
        """The layer that made it, if others of its memory make records, too."""
        name = self.series.removesuffix(self.kind).removesuffix("/")
        return Part(name, 0) if name else None

    @property
    def current(self) -> bool:
        """True while its lifetime is open."""
        return self.valid_to is None


def records_in(value: Any) -> Iterator[MemoryRecord]:
    """The records in a snapshot, or in a part of it, in order; some more than once."""
    if isinstance(value, MemoryRecord):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from records_in(pair)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        for item in value:
            yield from records_in(item)


class Observer(Protocol):
    """Is told of every change of every memory of a model, in order."""

    def opened(self, record: MemoryRecord) -> None:
        """A record's lifetime begins."""

    def graded(self, record: MemoryRecord) -> None:
        """A record's importance is known now."""

    def closed(self, record: MemoryRecord) -> None:
        """A record's lifetime has ended."""

    # An observer may also have ``staled(record)``: what it rests on does not hold any more.


class RecordBus:
    """Shared by the memories of one run: the observers, and the order of all records.

    Attributes:
        observers: told of every record opened, graded and closed.
        orders: counts the numbers in the order.
        made: how many records were made in this process, by kind.
    """

    def __init__(self) -> None:
        self.observers: list[Observer] = []
        self.orders = itertools.count(1)
        self.made: Counter[str] = Counter()

    def next_order(self) -> int:
        """The next number in the order; from any thread."""
        return next(self.orders)

    def begin_after(self, order: int) -> None:
        """Gives later numbers only, as records with earlier ones exist."""
        self.orders = itertools.count(max(order, self.next_order() - 1) + 1)


class Part(NamedTuple):
    """One of several layers of a memory that make records at the same time.

    Attributes:
        name: tells it from the other layers; stands in the ids of its records.
        order: 0 for the first layer, 1 for the second, and so on.
    """

    name: str
    order: int


class RecordLog:
    """Makes, closes and numbers the records of one memory.

    Attributes:
        bus: of the run; set by ``LayerContext.log``.
        numbers: how many records of each kind were made.
        stale: the current ones that rest on something that does not hold any more, by id.
    """

    def __init__(self, layer: str) -> None:
        self.layer = layer
        self.bus = RecordBus()
        self.numbers: dict[str, int] = {}
        self._made: dict[str, int] = {}
        self._newest = 0  # the last number in the run's order that was taken here
        self._evidence = Evidence()
        self.stale: dict[str, MemoryRecord] = {}
        self._current: dict[str, MemoryRecord] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Layer and numbers; the observers belong to the run, not to the memory."""
        process = ("bus", "_lock")
        return {k: v for k, v in vars(self).items() if k not in process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes up a state, with a bus of its own."""
        self.__dict__.update(state)
        self.bus, self._lock = RecordBus(), threading.Lock()

    def join(self, bus: RecordBus) -> None:
        """Tells this run's observers from now on; its order goes on after the records.

        The records of a copy, or of a pickled memory, have places of another run.
        """
        if bus is self.bus:
            return
        self.bus = bus
        bus.begin_after(self._newest)

    def count_with(self, other: "RecordLog") -> None:
        """From now on both number their records together, so that no id is used twice."""
        self.numbers, self._lock = other.numbers, other._lock

    def current(self) -> list[MemoryRecord]:
        """The records made here whose lifetime is open, in order of making."""
        return list(self._current.values())  # in one go, so without the lock

    def adopt(
        self,
        records: Iterable[MemoryRecord],
        look_up: Callable[[str], MemoryRecord | None] = lambda key: None,
    ) -> None:
        """Goes on with these records as those whose lifetime is open.

        Args:
            look_up: gives one that has ended by its id, or None.
        """
        with self._lock:
            current = self._current = {record.id: record for record in records}
            self.stale = {
                r.id: r for r in current.values() if r.stale_since is not None
            }
            self._evidence = Evidence()
            made = [record for record in current.values() if record.sources]
            kinds = {record.kind for record in made if record.origin != EVENT}

            def ended(key: str) -> MemoryRecord | None:
                parts = key.rsplit("/", 2)  # nothing takes the place of an event
                return look_up(key) if parts[-2:-1] and parts[-2] in kinds else None

            for record in made:
                on = successors(record, current, ended)
                self._evidence.add(record, on)

    def open(
        self,
        agent: Any,
        kind: str,
        step: float,
        content: dict,
        commit_order: int | None = None,
        part: "Part | None" = None,
        **fields: Any,
    ) -> MemoryRecord:
        """A new current record; events may arrive while a step is being settled.

        Args:
            commit_order: order of the commitment it was made from; None is the end.
            part: who makes it, if others make records at the same time: it is numbered
                and ordered within this part, in any order of arrival.
            fields: further ones of ``MemoryRecord``; ``valid_from`` is at first ``step``.
        """
        series = kind if part is None else f"{part.name}/{kind}"
        with self._lock:
            number = self.numbers[series] = self.numbers.get(series, 0) + 1
            key = f"{agent}/{self.layer}/{series}/{number}"
            if commit_order is None:
                order = (next(self.bus.orders), 0)
            else:
                order = self._order(commit_order, part)
            self._newest = max(self._newest, order[0])
            fields = {"valid_from": step, "order": order, **fields}
            record = MemoryRecord(key, agent, self.layer, kind, step, content, **fields)
            self._current[key] = record
            if record.sources:
                self._evidence.add(record, filter(self._current.get, record.sources))
            if record.stale_since is not None:
                self.stale[key] = record
        self.bus.made[kind] += 1
        for observer in self.bus.observers:
            observer.opened(record)
        return record

    def _order(self, commit_order: int, part: "Part | None") -> tuple[int, int]:
        """The order of a memory's record; parts of one memory follow one another."""
        name, before = ("", 0) if part is None else (part.name, part.order * PART_SIZE)
        made = self._made[name] = self._made.get(name, 0) + 1
        return (commit_order, before + made)

    def grade(self, record: MemoryRecord, importance: float) -> None:
        """Fills in a record's importance."""
        record.importance = importance
        for observer in self.bus.observers:
            observer.graded(record)

    def close(
        self,
        record: MemoryRecord,
        step: float,
        reason: str,
        by: MemoryRecord | None = None,
        same: bool = False,
    ) -> None:
        """Ends a record's lifetime; a closed record stays as it is.

        What rests on it is stale from then on, if it ended since it does not hold.

        Args:
            by: what takes its place.
            same: that says the same, so what rests on the one rests on the other.
        """
        if record.valid_to is not None:
            return
        key = record.id
        wrong = reason in _WRONG or (reason == SUPERSEDED and by is not None)
        with self._lock:
            self._current.pop(key, None)
            self.stale.pop(key, None)
            if same and by is not None:
                self._evidence.move(key, by)
            # An edited record has the place of the old one: all the rest came later.
            after = None if reason == EDITED else by
            resting = self._evidence.end(key, after) if wrong else []
            self._evidence.forget(key)
        record.valid_to = step
        record.closed_because = reason
        record.superseded_by = by.id if by else None
        for observer in self.bus.observers:
            observer.closed(record)
        for other in resting:
            self.mark_stale(other, step)

    def doubt(self, record: MemoryRecord, step: float) -> None:
        """Marks a record and all that rests on it as stale."""
        with self._lock:
            resting = self._evidence.end(record.id)
        for each in (record, *resting):
            self.mark_stale(each, step)

    def mark_stale(self, record: MemoryRecord, step: float) -> None:
        """Notes since when something that a record rests on does not hold any more."""
        if record.stale_since is not None or record.origin == EVENT:
            return
        record.stale_since = step
        self.stale[record.id] = record
        for observer in self.bus.observers:
            if staled := getattr(observer, "staled", None):
                staled(record)
