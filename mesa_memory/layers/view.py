"""The facts of one read of a memory, or of one batch of steps that it settles."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from mesa_memory.core import render
from mesa_memory.core.content import storable
from mesa_memory.core.inbox import Commit, Group
from mesa_memory.core.journal import Journal
from mesa_memory.core.records import EVENT, REASONS, SUPERSEDED, MemoryRecord
from mesa_memory.core.requests import Embedded, Flow, LLMRequest
from mesa_memory.core.statement import FOLD
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.wording import Voice, Wording
from mesa_memory.errors import BadReply, ContentFiltered
from mesa_memory.hosts.mesa_llm import NamesNow, role_of


class Limits(NamedTuple):
    """What bounds the texts of a memory.

    Attributes:
        event_chars: longest text of one event in a prompt, in characters.
        section_chars: longest text of one section of a prompt, in characters.
        repetitions: ``"fold"`` or ``"keep"``, see ``core.statement``.
    """

    event_chars: int = 1000
    section_chars: int = 8000
    repetitions: str = FOLD


@dataclass(frozen=True, eq=False)
class StepView:
    """The facts of one read or of one settled batch; each is looked up once.

    ``memory.view()`` makes it. A batch that is settled in the background keeps the facts
    of its own step. Nothing holds a view longer than its read or its batch.

    Attributes:
        memory: the memory that is read or settled.
        agent: the agent that remembers.
        now: the model's clock; of a batch, the clock when the step was finished.
        names: gives an agent's name by its unique id.
        wording: the words of all that the agent and its model are told.
        services: of the agent's model.
        limits: what bounds its texts in a prompt.
        journal: all that the memory has noted.
        commit: the batch that is settled; None in a read.
        about: the question that a prompt is read for; None takes the step.
        unnoticed: whether a read must leave no trace.
        embedded: the text of a query and its embedding, which were awaited.
        nested: whether a read of this memory that is shown is under way.
    """

    memory: Any
    agent: Any
    now: float
    names: NamesNow
    wording: Wording
    services: Any
    limits: Limits
    journal: Journal
    commit: Commit | None = None
    about: str | None = None
    unnoticed: bool = False
    embedded: tuple[str, Embedded | None] | None = None
    nested: bool = False

    @property
    def recalling(self) -> bool:
        """True for the batch of a read, which leaves pending events to the next one."""
        return self.commit is not None and self.commit.recall

    # -- words ----------------------------------------------------------------------

    def told(self, part: str, **values: Any) -> str:
        """A text of the prompt file ``memory``."""
        return self.wording("memory", part, **values)

    @cached_property
    def voice(self) -> Voice:
        """Names and words in requests about this memory."""
        return Voice(self.names, self.wording, self.agent.unique_id)

    @cached_property
    def own_voice(self) -> Voice:
        """Names and words in what the agent itself is told."""
        return Voice(self.names, self.wording, self.agent.unique_id, to_owner=True)

    @cached_property
    def index_voice(self) -> Voice:
        """Tells who, by name and id, but not to whom: names find a speaker's words."""
        return Voice(self.names.full, self.wording)

    def line(self, event: MemoryRecord) -> str:
        """An event on one line, as requests tell it: everybody by name."""
        return render.told(event, self.limits.event_chars, self.voice).line

    def own_line(self, event: MemoryRecord) -> str:
        """An event on one line, as the agent itself is told: it is "you"."""
        return render.told(event, self.limits.event_chars, self.own_voice).line

    # -- records --------------------------------------------------------------------

    def open(self, kind: str, content: Any, **fields: Any) -> MemoryRecord:
        """A new current record of the memory; see ``records.MemoryRecord``.

        Args:
            fields: further ones of the record; its ``step`` is now by default.
        """
        fields.setdefault("commit_order", self.commit and self.commit.order)
        step, agent = fields.pop("step", self.now), self.agent.unique_id
        return self.journal.open(agent, kind, step, content, **fields)

    def supersede(
        self, old: MemoryRecord, new: MemoryRecord, same: bool = False
    ) -> None:
        """Closes a record in whose place there is a new one.

        Args:
            same: it says the same; otherwise what rests on the old one is stale.
        """
        if old.current:
            self.journal.close(old, self.now, SUPERSEDED, by=new, same=same)

    def pending(self) -> list[Group]:
        """Events that are not admitted yet, by step, oldest step first."""
        groups: list[Group] = self.memory.pending()
        return groups

    def release(
        self,
        records: Iterable[MemoryRecord],
        reason: str,
        step: float | None = None,
        layer: Any = None,
    ) -> None:
        """A layer holds records no more; each ends once no layer holds it.

        Events end after the batch, in ``close_dropped``: other layers may take them up
        later. What a memory has made ends now, unless another layer holds it.

        Args:
            reason: one of ``records.REASONS``; of several, the last in their order counts.
            step: of the end; None is now.
            layer: holds the records no more; None stands for all layers.

        Raises:
            ValueError: for another reason.
        """
        if reason not in REASONS:
            raise ValueError(
                f"a layer closed a record because of {reason!r}; a reason must be one "
                f"of {', '.join(REASONS)}. Choose the nearest, and put more into the "
                "content of a record."
            )
        journal, step = self.journal, self.now if step is None else step
        for record in records:
            if not record.current:
                continue
            known, _ = journal.leaving.get(record.id, (reason, step))
            why = max(known, reason, key=REASONS.index)
            journal.leaving[record.id] = why, step
            if record.origin != EVENT and not self._is_held_beside(layer, record):
                journal.close(record, step, why)

    def _is_held_beside(self, layer: Any, record: MemoryRecord) -> bool:
        """True if another layer holds a record."""
        layers = self.memory.layers if layer is not None else ()
        return any(record in each.all_records() for each in layers if each is not layer)

    def origin(self, **more: Any) -> dict[str, Any]:
        """The agent, the memory and the step, for the recorder."""
        agent, layer = self.agent.unique_id, self.journal.layer
        return {"agent": agent, "layer": layer, "step": self.now, **more}

    def note_recall(
        self, purpose: str, found: Any, shown: Callable[[Any], bool] = lambda _: True
    ) -> None:
        """Records were recalled, and ``shown`` says which of them were shown."""
        recorder = self.services.recorder
        if recorder and not self.unnoticed:
            order = self.commit and self.commit.order
            recalled, where = len(found.records), self.origin(purpose=purpose)
            ranked = [*found.records, *found.forgotten]
            recorder.recalled(
                where, found.query, found.scoring, ranked, found.note,
                lambda each: each.rank <= recalled and shown(each), order, found.part,
            )  # fmt: skip

    # -- requests -------------------------------------------------------------------

    @cached_property
    def request_inputs(self) -> Mapping[str, Any]:
        """The inputs of every task: in which words, and whose memory it is.

        ``me`` is the agent's name, ``role`` the beginning of its ``system_prompt``.
        """
        me, role = self.names(self.agent.unique_id), role_of(self.agent)
        return {"wording": self.wording, "me": me, "role": role}

    @property
    def model_choice(self) -> Any:
        """The model that the memory asks; see ``runtime.model_choice``."""
        return self.memory.model_choice

    def system_for(self, task: Any, inputs: Mapping[str, Any]) -> str:
        """The system text of a task; a user's class may have written it."""
        return storable(self.memory.system_for(task, inputs))

    def request_for(self, task: Any, /, **inputs: Any) -> LLMRequest:
        """The request that ``ask`` sends."""
        model, api_base = self.model_choice.target(task.purpose)
        inputs = {**self.request_inputs, **inputs}
        return task.request(
            inputs,
            system=self.system_for(task, inputs),
            agent=self.agent.unique_id,
            step=self.now,
            model=model,
            api_base=api_base,
        )

    def ask(self, task: Any, /, **inputs: Any) -> Flow[Any]:
        """The checked reply to a task: ``reply = yield from view.ask(TASK, name=value)``.

        Args:
            inputs: what the task's system text and prompt are made of.

        Returns:
            What the task's check lets through: an instance of its schema, or a text.

        Raises:
            LLMError: without a usable reply.
        """
        return task.ask(self.request_for(task, **inputs))


class Read(NamedTuple):
    """The state of the current read; holds neither the memory nor its agent.

    Connections and tasks that begin meanwhile keep a copy of all context variables.

    Attributes:
        view: of the read or batch under way; None between two reads.
        options: of the reads to come, see ``StepView``.
        outer: the read around this one, of any memory.
    """

    memory: weakref.ref[Any]
    view: weakref.ref[StepView] | None
    options: Mapping[str, Any]
    outer: "Read | None"


_READ: ContextVar[Read | None] = ContextVar("read", default=None)


def _here(memory: Any) -> tuple[Read | None, StepView | None]:
    """The innermost read of a memory in this thread or task, and its view, if any."""
    read = _READ.get()
    while read is not None and read.memory() is not memory:
        read = read.outer
    return read, None if read is None or read.view is None else read.view()


def view_here(memory: Any) -> StepView | None:
    """The view of the read or batch of a memory that is under way here; None outside."""
    return _here(memory)[1]


def option_of(memory: Any, name: str) -> Any:
    """An option of the read that is under way or to come here; None outside of all."""
    read, view = _here(memory)
    if view is not None:
        return getattr(view, name)
    return None if read is None else read.options.get(name)


def view_of(memory: Any, **options: Any) -> StepView:
    """The view of the read or batch of a memory that is under way here, or a new one.

    A layer of one's own is given it; what users call by hand asks ``memory.view()``.

    Args:
        options: further ones of this view.
    """
    read, view = _here(memory)
    if view is not None:
        return replace(view, **options) if options else view
    known = {} if read is None else read.options
    return memory.new_view(**{**known, **options})


def begin(view: StepView) -> Any:
    """From now on this thread or task sees a view; returns a token for ``end``."""
    read = Read(weakref.ref(view.memory), weakref.ref(view), {}, _READ.get())
    return _READ.set(read)


end = _READ.reset


@contextmanager
def reading(memory: Any, **options: Any) -> Iterator[None]:
    """Reads of a memory in this thread or task have these options meanwhile.

    Args:
        options: such as ``about``, see ``StepView``; others stay as they are.
    """
    read, view = _here(memory)
    if view is not None:  # held here, as nobody else holds it
        view = replace(view, **options)
    elif read is not None:
        options = {**read.options, **options}
    seen = None if view is None else weakref.ref(view)
    token = _READ.set(Read(weakref.ref(memory), seen, options, _READ.get()))
    try:
        yield
    finally:
        _READ.reset(token)


# -- events that a content filter refuses ----------------------------------------------


logger = logger_of(__name__)

REFUSED_WARNING = (
    "the provider's content filter refuses an event of agent %s: step %s, %s (%s). No "
    "further request shows it; it goes without grade, summary, fact and impression. All "
    "other events get theirs."
)

#: asks about some events
type Ask[T] = Callable[[list[MemoryRecord]], Flow[T]]


def askable(view: StepView, events: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """The events that a content filter has not refused."""
    refused = view.journal.filtered
    return [event for event in events if event.id not in refused]


def ask_about[T](
    view: StepView, events: Sequence[MemoryRecord], ask: Ask[T]
) -> Flow[T | None]:
    """The reply to a request about all events that a content filter lets pass.

    Args:
        ask: is given the events to ask about; it may be called several times.

    Returns:
        None if all are refused.

    Raises:
        ContentFiltered: if the request shows other texts than events.
        LLMError: without a usable reply.
    """
    left = askable(view, events)
    while left or not events:
        try:
            return (yield from ask(list(left)))
        except ContentFiltered:
            if not left:
                raise
        event = left.pop((yield from _first_refused(left, ask)))
        view.journal.filtered[event.id] = None
        agent = view.agent.unique_id
        logger.warning(REFUSED_WARNING, agent, event.step, event.kind, event.id)
    return None


def _first_refused[T](events: Sequence[MemoryRecord], ask: Ask[T]) -> Flow[int]:
    """The place of the event with which the events before it are refused."""
    passed, refused = 0, len(events)  # how many of the oldest together
    while refused - passed > 1:
        count = (passed + refused) // 2
        try:
            with suppress(BadReply):  # an unusable reply has passed the filter, too
                yield from ask(list(events[:count]))
            passed = count
        except ContentFiltered:
            refused = count
    return refused - 1
