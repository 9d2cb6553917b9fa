"""The one record type: everything an agent remembers, with its lifetime.

A record belongs to one agent and one layer, was made at a step, names the records it
came from, and is current from ``valid_from`` until ``valid_to``. Changing a memory
closes one record and opens another, so history, audit and time travel read the same
table. Ids count up per agent, layer and kind: no clock, no random numbers.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol

from mesa_memory.core.content import MAPPINGS

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
        earlier: how many older repetitions of it its memory has forgotten.
        told: its text, made once for each voice, see ``render.told``, and its statement,
            see ``core.statement``. No copy has it.
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
    earlier: int = 0
    told: dict[bool | str | None, Any] = field(
        default_factory=dict, init=False, repr=False
    )

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
        content: Any = self.content
        return content.get("sender") if isinstance(content, MAPPINGS) else None

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
    elif isinstance(value, MAPPINGS):
        for pair in value.items():
            yield from records_in(pair)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        for item in value:
            yield from records_in(item)


def records_of(thing: Any) -> Iterator[MemoryRecord]:
    """The records in the attributes that ``state`` of a layer or a memory names."""
    for name in thing.state:
        if (value := getattr(thing, name, None)) is not None:
            yield from [value] if type(value) is MemoryRecord else records_in(value)


class Observer(Protocol):
    """Is told of every change of every memory of a model, in order."""

    def opened(self, record: MemoryRecord) -> None:
        """A record's lifetime begins."""

    def graded(self, record: MemoryRecord) -> None:
        """A record's importance is known now."""

    def closed(self, record: MemoryRecord) -> None:
        """A record's lifetime has ended."""

    # An observer may also have ``staled(record)``: what it rests on does not hold any more.


class Part(NamedTuple):
    """One of several layers of a memory that make records at the same time.

    Attributes:
        name: tells it from the other layers; stands in the ids of its records.
        order: 0 for the first layer, 1 for the second, and so on.
    """

    name: str
    order: int
