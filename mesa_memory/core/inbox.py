"""Events between their arrival and the end of the step, in order of arrival.

Other agents and tools add events at any time and from any thread. ``freeze`` marks the
start of the agent's own step, ``take`` ends it. Events keep the step at which they
arrived, also when the agent acts only later or never.
"""

import math
import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mesa_memory.core.records import MemoryRecord

#: a step and its events, in order of arrival
type Group = tuple[float, list[MemoryRecord]]


class Commit(NamedTuple):
    """A batch of finished steps.

    Attributes:
        now: the model's clock when it was committed.
        groups: the steps.
        order: where it stands in the run's order of records.
        recall: True if a recall waits for work that was postponed.
    """

    now: float
    groups: list[Group]
    order: int
    recall: bool = False

    def again(self) -> "Commit":
        """A batch without events, to resume interrupted work."""
        return self._replace(groups=[])


class Inbox:
    """Events between arrival and commitment. Every method but ``add`` is atomic.

    Attributes:
        lock: reentrant, taken around each change; hold it to do more in one go.
        told: steps of its events with their lines, as the last prompt had them; none
            once an event has changed.
    """

    told: Sequence[Any] = ()

    def __init__(self, lock: Any = None) -> None:
        self.lock = lock or threading.RLock()
        self._events: list[MemoryRecord] = []
        self._oldest = math.inf  # no event is of an earlier step
        self._frozen = 0  # how many of the events arrived before the agent's step
        self._began: float | None = None  # the clock when the agent's step began
        self._hooked: float | None = None  # the clock at the last step hook

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which belongs to this process."""
        return {k: v for k, v in vars(self).items() if k not in ("lock", "told")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes up a state, with a lock of its own."""
        self.__dict__.update(state)
        self.lock = threading.RLock()
        self._oldest = _oldest(self._events)

    def snapshot(self) -> tuple:
        """The staged events, and the progress of the agent's step."""
        with self.lock:
            return (tuple(self._events), self._frozen, self._began, self._hooked)

    def restore(self, snapshot: Sequence[Any]) -> None:
        """Takes up a snapshot."""
        with self.lock:
            events, self._frozen, self._began, self._hooked = snapshot
            self._events = list(events)
            self._oldest = _oldest(self._events)

    def add(self, event: MemoryRecord) -> bool:
        """Appends an event; True if another one is of an earlier step.

        The caller holds the ``lock``, as for its record.
        """
        self._events.append(event)
        self._oldest = min(self._oldest, event.step)
        return event.step > self._oldest

    def complete(self, sender: Any, text: Any, recipients: list, now: float) -> None:
        """Adds the recipients to a message that came without them.

        It is the newest staged one of this sender with this text at clock ``now``. An
        event that was taken out by then does not change any more.
        """
        with self.lock:
            for event in reversed(self._events):
                if event.step != now:
                    return
                content = event.content
                if (
                    event.kind == "message"
                    and isinstance(content, Mapping)
                    and content.get("sender") == sender
                    and content.get("message") == text
                    and content.get("recipients") is None
                ):
                    # A new one: another thread may be reading the old one.
                    event.content = {**content, "recipients": list(recipients)}
                    self.told = ()
                    return

    def events(self) -> list[MemoryRecord]:
        """Everything staged, oldest first."""
        return self._events.copy()  # in one go, so without the lock

    def waiting(self) -> list[MemoryRecord]:
        """The events before ``freeze``, oldest first."""
        with self.lock:
            return self._events[: self._frozen]

    def arrived(self) -> list[MemoryRecord]:
        """The events since ``freeze``, oldest first."""
        with self.lock:
            return self._events[self._frozen :]

    def replace_arrived(self, events: Iterable[MemoryRecord]) -> list[MemoryRecord]:
        """Puts ``events`` in place of those arrived; returns the old ones."""
        with self.lock:
            old = self._events[self._frozen :]
            self._events[self._frozen :] = events
            self._oldest = _oldest(self._events)
            return old

    def freeze(self, now: float) -> list[MemoryRecord]:
        """The agent's step begins at clock ``now``; returns the waiting events.

        A second call before ``take`` loses nothing: what came between joins in.
        """
        with self.lock:
            self._frozen = len(self._events)
            self._began = self._hooked = now
            return self._events.copy()

    def take(self, now: float) -> list[Group]:
        """The agent's step ends: everything staged, grouped by step.

        What arrived since the step began belongs to the step at which it ends, even
        if the clock was moved in between; earlier events keep their own step.
        """
        with self.lock:
            oldest, events = self._oldest, self._draw()
            began, self._began = self._began, None
            self._hooked = now
        inside = math.inf if began is None else began
        if oldest >= inside or not events:
            return [(now, events)] if events else []
        return _grouped(events, inside, now)

    def draw(self) -> list[MemoryRecord]:
        """Takes everything staged; the agent's step, if it has begun, goes on."""
        with self.lock:
            return self._draw()

    def _draw(self) -> list[MemoryRecord]:
        events, self._events = self._events, []
        self._frozen, self._oldest = 0, math.inf
        return events

    def has_finished(self, now: float) -> bool:
        """True if ``take_finished`` would give something."""
        if self._oldest >= now:
            return False
        return self._hooked is None or now - self._hooked > 1

    def take_finished(self, now: float) -> list[Group]:
        """The events of steps before ``now``, if no step hook is coming for them.

        A model may drive its agents without the hooks, or an agent may never act. An
        agent whose hooks were called at this or the previous step commits its events
        itself, all in one go.
        """
        with self.lock:
            if not self.has_finished(now):
                return []
            finished = [e for e in self._events if e.step < now]
            frozen = self._events[: self._frozen]
            self._frozen -= sum(e.step < now for e in frozen)
            self._events = [e for e in self._events if e.step >= now]
            self._oldest = _oldest(self._events)
        return _grouped(finished)


def _oldest(events: Iterable[MemoryRecord]) -> float:
    return min((event.step for event in events), default=math.inf)


def _grouped(
    events: Iterable[MemoryRecord], inside: float = math.inf, now: float = math.inf
) -> list[Group]:
    """Events by step, the oldest step first; from ``inside`` on, all are of ``now``."""
    groups: dict[float, list[MemoryRecord]] = {}
    for event in events:
        step = now if event.step >= inside else event.step
        groups.setdefault(step, []).append(event)
    return sorted(groups.items())  # no two have the same step


def by_kind(events: Iterable[MemoryRecord], additive: Container[str]) -> dict:
    """A step's events as Mesa-LLM shows them: kind -> content.

    Kinds in ``additive`` give a list; of every other kind the newest content counts.
    """
    content: dict = {}
    for event in events:
        if event.kind in additive:
            content.setdefault(event.kind, []).append(event.content)
        else:
            content[event.kind] = event.content
    return content


def unreplaced(
    events: Sequence[MemoryRecord], additive: set[str]
) -> Sequence[MemoryRecord]:
    """A step's events without the observations that a later one has replaced."""
    if "observation" in additive:
        return events
    gone = set([event for event in events if event.kind == "observation"][:-1])
    return [event for event in events if event not in gone] if gone else events
