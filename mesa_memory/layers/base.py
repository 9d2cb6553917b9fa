"""A layer: one part of a memory, which owns its records.

A memory is a *host* (``MemoryModule``) and its layers. The host speaks Mesa-LLM's
protocol, opens the records of events, decides when a layer works and who answers its
requests, and shows its lines to the agent. A layer knows records and flows, and nothing
of threads, providers or stores. All its methods do nothing by default.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mesa_memory.core.content import storable
from mesa_memory.core.records import DERIVED, MemoryRecord, Part, records_of
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.statement import statement
from mesa_memory.layers.declared_state import declared_state, take_up
from mesa_memory.layers.lines import Line
from mesa_memory.layers.view import StepView


class Layer:
    """One part of a memory; subclasses override some of its methods.

    Example:
        >>> class LastWords(Layer):
        ...     state = ("said",)
        ...     said = None
        ...
        ...     def admit(self, view, step, events):
        ...         for event in events:
        ...             if event.kind == "message":
        ...                 self.said = event
        ...
        ...     def summary(self, view):
        ...         return [self.line(view, self.said)] if self.said else []

    Attributes:
        name: tells a layer's state from that of other layers of its memory; one that is
            taken already gets a number.
        state: names of the attributes that a snapshot keeps: records and plain data.
            What a layer needs to go on after a crash is in them, and nothing else.
        restored: names of the attributes that ``snapshot`` and ``restore`` of the class
            keep in a form of their own.
        memory: the memory of which it is a part; set by ``join``.
        part: under which its records are numbered, if others make some at the same
            time; set by the memory.
        heading: of its section in a prompt that shows several layers; by default the
            name.
        volatility: how often its ``summary`` changes, from 0 (hardly ever) to 1 (each
            step); where several layers are shown, in the order of it.
    """

    name = "layer"
    heading = ""
    volatility = 0.5
    part: Part | None = None
    state: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    memory: Any

    def __init_subclass__(cls, **given: Any) -> None:
        """Refuses a class whose methods lack the view.

        Raises:
            TypeError: for a method that does not take ``view`` first.
        """
        super().__init_subclass__(**given)
        check_views(cls, VIEWED)

    # -- to be overridden -----------------------------------------------------------

    def join(self, memory: Any) -> None:
        """Makes this a part of a memory."""
        self.memory = memory

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Takes up the events of one finished step, oldest first; asks no one."""

    def step_ends(self, view: StepView) -> None:
        """The agent's own step ends; its events are not admitted yet.

        The model is as the agent leaves it, in every execution; later it has moved on.
        """

    def remember(self, view: StepView) -> Flow[None]:
        """Thinks, once the events of all finished steps are admitted.

        A generator: it asks with ``reply = yield from view.ask(TASK, …)``. It is called
        after each step, and again after a failure, so what is due must follow from the
        layer's state alone, and the state must change only after the last ``yield``.
        """
        return
        yield  # makes this a generator

    def postponed(self) -> bool:
        """True if it waits with a request; a recall calls ``remember`` first then."""
        return False

    def recent(self, view: StepView) -> list[Line]:
        """Its verbatim part, oldest first: events, each with its step."""
        return []

    def summary(self, view: StepView) -> list[Line]:
        """Its account of the past, as lines."""
        return []

    def records(self) -> Iterable[MemoryRecord]:
        """The records in its ``state``; a record that no layer holds is closed.

        A record may be given more than once, and may be closed already.
        """
        return records_of(self)

    def all_records(self) -> list[MemoryRecord]:
        """The records that it holds, with those in its ``state``."""
        beside = self.state and type(self).records is not Layer.records
        return [*self.records(), *(records_of(self) if beside else ())]

    def edited(self, record: MemoryRecord, content: dict[str, Any]) -> dict[str, Any]:
        """The content that ``edit`` puts in the place of a record's, made consistent."""
        return content

    def history(self) -> Iterable[MemoryRecord]:
        """Closed records that it can still show, such as earlier revisions."""
        return ()

    def snapshot(self) -> dict[str, Any]:
        """Its state besides its records; by default the ``state``."""
        return declared_state(self)

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Replaces the layer's content by a snapshot.

        Args:
            shelf: the memory's records at the time of the snapshot.
        """
        take_up(self, snapshot)

    def moved(self, snapshot: dict[str, Any], later: float) -> dict[str, Any]:
        """A snapshot as if everything in it had happened ``later`` steps later.

        Needed where a snapshot has steps, not only records: what is carried over into
        another run happened before that begins, see ``carry_over``.

        Args:
            later: number of steps; mostly below 0.
        """
        return snapshot

    # -- given by the memory ----------------------------------------------------------

    def open(
        self,
        view: StepView,
        kind: str,
        content: dict[str, Any],
        sources: Iterable[MemoryRecord] = (),
        **fields: Any,
    ) -> MemoryRecord:
        """Opens a record made by this layer.

        Args:
            kind: such as ``"summary"``.
            content: plain data; what a dashboard shows as its text is ``"text"``.
            sources: what it was made of, oldest first.
            **fields: further fields of ``MemoryRecord``, such as ``subject``.
        """
        fields.setdefault("origin", DERIVED)
        fields["sources"] = tuple([source.id for source in sources])
        return view.open(kind, content, part=self.part, **fields)

    def revise(
        self,
        view: StepView,
        old: MemoryRecord | None,
        kind: str,
        content: dict[str, Any],
        sources: Iterable[MemoryRecord] = (),
        same: bool = False,
        **fields: Any,
    ) -> MemoryRecord:
        """Puts a new record in the place of an old one, which is its first source.

        Args:
            old: is closed as superseded; None without one yet.
            same: what the old one says still holds, so what rests on it is not stale.
        """
        before = [old] if old is not None else []
        new = self.open(view, kind, content, [*before, *sources], **fields)
        if old is not None:
            view.supersede(old, new, same)
        return new

    def close(self, view: StepView, record: MemoryRecord, reason: str) -> None:
        """Holds a record no more: its lifetime ends, unless another layer holds it.

        Args:
            reason: one of ``core.records.REASONS``, such as ``"evicted"``.

        Raises:
            ValueError: for another reason.
        """
        view.release([record], reason, view.now, self)

    def line(self, view: StepView, record: MemoryRecord) -> Line:
        """A record as a line, as all memories show it."""
        text, said = view.own_line(record), statement(record)
        kind, step = record.kind, record.step
        return Line(text, (record,), step, kind, wording=view.wording, said=said)


#: the methods of a layer that are given the view, and their other arguments
VIEWED = {
    "admit": "step, events",
    "step_ends": "",
    "remember": "",
    "recent": "",
    "summary": "",
}


def check_views(cls: type, methods: Mapping[str, str]) -> None:
    """Refuses a class whose methods are written without the view.

    Args:
        methods: their names, and their arguments after the view.

    Raises:
        TypeError: for the first method that does not take ``view`` first.
    """
    for name, others in methods.items():
        method = vars(cls).get(name)
        if not inspect.isfunction(method):
            continue
        taken = list(inspect.signature(method).parameters)[1:]
        if taken[:1] != ["view"]:
            wanted = ", ".join(filter(None, ("self", "view", others)))
            raise TypeError(
                f"{cls.__name__}.{name}({', '.join(('self', *taken))}) must be "
                f"{name}({wanted}). The view has what a step needs: view.agent, "
                "view.now, view.names, view.wording, and view.ask(TASK, …) in the place "
                "of self.ask; self.open, self.revise, self.close and self.line take the "
                "view first."
            )


def with_unique_names(layers: Iterable[Layer], memory: Any = None) -> tuple[Layer, ...]:
    """The layers of one memory, each with a name of its own.

    Args:
        memory: of which they are or become parts.

    Raises:
        TypeError: if one of them is not a layer.
        ValueError: if one belongs to another memory, is given twice, or reads a layer
            that is not among them.
    """
    layers = list(layers)
    found: list[Layer] = []
    for layer in layers:
        if not isinstance(layer, Layer):
            raise TypeError(
                f"layers must be objects of classes of Layer, such as Window(5); got "
                f"{layer!r}"
            )
        if getattr(layer, "memory", None) is not memory:
            _check_new(layer)
        if any(layer is each for each in found):
            raise ValueError(
                f"layers has {layer!r} twice: make a second layer of its class"
            )
        _check_read(layer, layers)
        layer.name = storable(layer.name)  # stands in the ids of its records
        taken = {each.name for each in found}
        kind, number = layer.name, 1
        while layer.name in taken:
            number += 1
            layer.name = f"{kind}-{number}"
        found.append(layer)
    return tuple(found)


def _check_new(layer: Layer) -> None:
    """A layer holds the text of one agent, so it belongs to one memory for good."""
    other = getattr(layer, "memory", None)
    if other is not None:
        raise ValueError(
            f"the layer {layer.name!r} ({type(layer).__name__}) belongs to another "
            f"memory, of agent {other.agent.unique_id}: make new layers for each agent"
        )


def _check_read(layer: Layer, layers: Sequence[Layer]) -> None:
    """A layer that reads another one must be in one memory with it."""
    for name, other in vars(layer).items():
        if isinstance(other, Layer) and all(other is not each for each in layers):
            raise ValueError(
                f"the {name} of {type(layer).__name__} must be one of the memory's "
                "layers, listed before it"
            )
