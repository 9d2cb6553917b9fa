"""A layer: one part of a memory, which owns its records.

A memory is a *host* (``MemoryModule``) and its layers. The host speaks Mesa-LLM's
protocol, opens the records of events, decides when a layer works and who answers its
requests, and shows its lines to the agent. A layer knows records and flows, and nothing
of threads, providers or stores. All its methods do nothing by default.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mesa_memory.core.content import storable
from mesa_memory.core.records import DERIVED, MemoryRecord, Part
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.declared_state import declared_state, records_of, take_up
from mesa_memory.layers.lines import Line


class Layer:
    """One part of a memory; subclasses override some of its methods.

    Example:
        >>> class LastWords(Layer):
        ...     state = ("said",)
        ...     said = None
        ...
        ...     def admit(self, step, events):
        ...         for event in events:
        ...             if event.kind == "message":
        ...                 self.said = event
        ...
        ...     def summary(self):
        ...         return [self.line(self.said)] if self.said else []

    Attributes:
        name: tells a layer's state from that of other layers of its memory; one that is
            taken already gets a number.
        state: names of the attributes that a snapshot keeps: records and plain data.
            What a layer needs to go on after a crash is in them, and nothing else.
        restored: names of the attributes that ``snapshot`` and ``restore`` of the class
            keep in a form of their own.
        context: what the memory gives its layers; set by ``join``.
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
    context: LayerContext

    # -- to be overridden -----------------------------------------------------------

    def join(self, context: LayerContext) -> None:
        """Makes this a part of a memory, whose context it is given."""
        self.context = context

    def admit(self, step: float, events: Sequence[MemoryRecord]) -> None:
        """Takes up the events of one finished step, oldest first; asks no one."""

    def step_ends(self, now: float) -> None:
        """The agent's own step ends; its events are not admitted yet.

        The model is as the agent leaves it, in every execution; later it has moved on.
        """

    def remember(self) -> Flow[None]:
        """Thinks, once the events of all finished steps are admitted.

        A generator: it asks with ``reply = yield from self.ask(TASK, …)``. It is called
        after each step, and again after a failure, so what is due must follow from the
        layer's state alone, and the state must change only after the last ``yield``.
        """
        return
        yield  # makes this a generator

    def postponed(self) -> bool:
        """True if it waits with a request; a recall calls ``remember`` first then."""
        return False

    def recent(self) -> list[Line]:
        """Its verbatim part, oldest first: events, each with its step."""
        return []

    def summary(self) -> list[Line]:
        """Its account of the past, as lines."""
        return []

    def records(self) -> Iterable[MemoryRecord]:
        """The records in its ``state``; a record that no layer holds is closed.

        A record may be given more than once, and may be closed already.
        """
        return records_of(self)

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

    @property
    def agent(self) -> Any:
        """The agent that remembers."""
        return self.context.agent

    @property
    def now(self) -> float:
        """The model's clock; in ``remember``, when the step was finished."""
        return self.context.now

    def ask(self, task: Any, /, **inputs: Any) -> Flow[Any]:
        """The checked reply to a task: ``reply = yield from self.ask(TASK, …)``.

        Raises:
            LLMError: without a usable reply.
        """
        return self.context.ask(task, **inputs)

    def open(
        self,
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
        return self.context.open(kind, self.now, content, part=self.part, **fields)

    def revise(
        self,
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
        new = self.open(kind, content, [*before, *sources], **fields)
        if old is not None:
            self.context.supersede(old, new, same)
        return new

    def close(self, record: MemoryRecord, reason: str) -> None:
        """Holds a record no more: its lifetime ends, unless another layer holds it.

        Args:
            reason: one of ``core.records.REASONS``, such as ``"evicted"``.

        Raises:
            ValueError: for another reason.
        """
        self.context.release([record], reason, self.now, self)

    def name_of(self, agent_id: Any) -> str:
        """The name of an agent in a text, by its unique id, such as ``"Ada"``."""
        return self.context.names(agent_id)

    def line(self, record: MemoryRecord) -> Line:
        """A record as a line, as all memories show it."""
        view = self.context.view
        text, wording = view.own_line(record), view.wording
        return Line(text, (record,), record.step, record.kind, wording=wording)


def with_unique_names(
    layers: Iterable[Layer], context: LayerContext | None = None
) -> tuple[Layer, ...]:
    """The layers of one memory, each with a name of its own.

    Args:
        context: of the memory.

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
        if getattr(layer, "context", None) is not context:
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
    other = getattr(layer, "context", None)
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
