"""The journal of a memory: its records, their numbers, and the events on their way to it.

Records are opened, graded and closed here, and the run's observers are told. What rests
on a record that does not hold any more is known to be stale.
"""

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mesa_memory.core.events import counterpart
from mesa_memory.core.inbox import Inbox
from mesa_memory.core.records import (
    EDITED,
    ERASED,
    EVENT,
    SUPERSEDED,
    WITHDRAWN,
    MemoryRecord,
    Observer,
    Part,
)

#: messages that the history keeps, unless a memory says otherwise
HISTORY_MESSAGES = 50
#: reasons for which what rests on a record does not hold any more, either
_WRONG = (ERASED, EDITED, WITHDRAWN)
#: most records that one layer makes in a run; what comes later stands after them
PART_SIZE = 10**6


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


class Journal:
    """All that one memory has noted.

    Args:
        layer: the memory's name among those of its agent, the second part of all ids.
        inbox: for its events; None makes one.

    Attributes:
        layer: as given.
        inbox: the events that have arrived since the last finished step.
        bus: of the run; set by ``join``.
        numbers: how many records of each kind were made.
        stale: the current ones that rest on something that does not hold any more, by id.
        history: records of the newest messages heard and sent, oldest first.
        additive_event_types: kinds of events that accumulate within a step.
        leaving: why and when a layer has evicted a record that another one holds,
            by id.
        filtered: ids of the events that a provider's content filter refuses.
        pinned: the facts of the agent's biography, in the order of its table.
        before: how many records of each kind there were when the memory was exchanged.
        made_by: what made the memory in the place of the model, as ``codec.encode``
            writes it; None if the model itself did.
        lived: own steps of the agent that ended while the model's clock stood still.
        shared: several layers hold the same events, and think at the same time.
        undeclared: attributes that no snapshot keeps, as far as they were reported.
        met: the clock when the model's ``names`` took note of the agent last.
        budget_used: what became of the budget of a text that is being read, for the
            recorder; None without one.
    """

    lived = 0
    shared = False
    made_by: Any = None
    met: float | None = None
    budget_used: Mapping[str, Any] | None = None

    def __init__(self, layer: str, inbox: Inbox | None = None) -> None:
        self.layer, self.inbox = layer, inbox or Inbox()
        self.bus = RecordBus()
        self.numbers: dict[str, int] = {}
        self.stale: dict[str, MemoryRecord] = {}
        self.history: deque[MemoryRecord] = deque(maxlen=HISTORY_MESSAGES)
        self.additive_event_types: set[str] = {"message", "action"}
        self.leaving: dict[str, tuple[str, float]] = {}
        self.filtered: dict[str, None] = {}
        self.pinned: list[MemoryRecord] = []
        self.before: Mapping[str, int] = {}
        self.undeclared: set[str] = set()
        self.met = None  # here: a copy may be made while this changes
        self._made: dict[str, int] = {}
        self._newest = 0  # the last number in the run's order that was taken here
        self._evidence = Evidence()
        self._current: dict[str, MemoryRecord] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the observers, which belong to the run, and the lock."""
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

    def count_with(self, other: "Journal") -> None:
        """From now on both number their records together, so that no id is used twice."""
        self.numbers, self._lock = other.numbers, other._lock

    @property
    def history_capacity(self) -> int:
        """The number of messages that the history keeps."""
        return self.history.maxlen or 0

    @history_capacity.setter
    def history_capacity(self, capacity: int) -> None:
        self.history = deque(self.history, capacity)

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
        part: Part | None = None,
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

    def open_event(
        self,
        agent: Any,
        kind: str,
        step: float,
        content: Any,
        origin: str = EVENT,
        **fields: Any,
    ) -> MemoryRecord:
        """Opens a record of an event; messages go into the history.

        Args:
            agent: unique id of the owner.
            content: plain data.
            fields: further ones of the record.
        """
        fields = {
            "subject": counterpart(kind, content, agent),
            "origin": origin,
            **fields,
        }
        record = self.open(agent, kind, step, content, **fields)
        if kind == "message":
            self.history.append(record)
        return record

    def _order(self, commit_order: int, part: Part | None) -> tuple[int, int]:
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
            self._evidence.resting.pop(key, None)
            self.leaving.pop(key, None)
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


# -- what rests on what ------------------------------------------------------------------


class Evidence:
    """The current records of one memory that rest on other current ones.

    What has ended cannot end again, so nothing is kept of it.

    Attributes:
        resting: the records that rest on a record, by id, by the id of that.
    """

    def __init__(self) -> None:
        self.resting: dict[str, dict[str, Any]] = {}

    def add(self, record: Any, sources: Iterable[str]) -> None:
        """Notes the evidence of a record.

        Args:
            sources: ids of current records.
        """
        for source in sources:
            if source != record.id:
                self.resting.setdefault(source, {})[record.id] = record

    def move(self, old: str, new: Any) -> None:
        """Moves the links of a record to another one that says the same."""
        if old not in self.resting:
            return
        if resting := _before(self.resting.pop(old), new):
            self.resting.setdefault(new.id, {}).update(resting)

    def end(self, record: str, by: Any = None) -> list[Any]:
        """All current records that rest on one that has ended, at any distance.

        Args:
            by: what has taken its place; it, and what rests on it, is sound.
        """
        found: dict[str, Any] = {}
        ahead = [_before(self.resting.pop(record, {}), by)]
        while ahead:
            for key, resting in ahead.pop().items():
                sound = by is not None and key == by.id
                if not sound and key not in found and resting.valid_to is None:
                    found[key] = resting
                    ahead.append(self.resting.get(key, {}))
        return list(found.values())


def _before(resting: dict[str, Any], by: Any) -> dict[str, Any]:
    """The records up to the first one that replaced another.

    Layers that think at the same time may be done in any order, so the records' own
    order counts.
    """
    if by is None:
        return resting
    return {key: record for key, record in resting.items() if record.order < by.order}


def successors(
    of: Any, current: Mapping[str, Any], look_up: Callable[[str], Any]
) -> list[str]:
    """The current records among a record's sources, or their replacements.

    What had already taken the place of a source does not count: the record rests on
    what had ended by then, which cannot end again.

    Args:
        of: the record.
        current: all current records by their ids.
        look_up: gives a record that has ended by its id; None if it is unknown.
    """
    found = []
    for source in of.sources:
        seen: set[str] = set()
        key: str | None = source
        while key and key not in seen and key not in current:
            seen.add(key)
            ended = look_up(key)
            key = None if ended is None else ended.superseded_by
            by = current.get(key) or look_up(key) if key else None
            if by is not None and by.order < of.order:
                key = None
        if key and key in current:
            found.append(key)
    return found
