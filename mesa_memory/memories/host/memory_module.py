"""The host of all memories: Mesa-LLM's protocol, and the step in its two halves.

``add_to_memory`` only stages. ``process_step(pre_step=True)`` joins this agent's
unfinished work and freezes what arrived; ``process_step()`` commits the step as one
batch: its events are admitted by all layers (plain), and then the layers think
(``remember``, a generator of requests). A memory changes only after its last reply was
checked.
"""

import asyncio
import copy
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from mesa_memory.core.events import deliveries, plain_event, recipients_of
from mesa_memory.core.inbox import Commit, Inbox
from mesa_memory.core.journal import HISTORY_MESSAGES, Journal
from mesa_memory.core.records import EVENT, MemoryRecord
from mesa_memory.core.requests import FAULTS, Flow, first_fault
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.statement import FOLD, checked_repetitions
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.validate import check_agent, checked_int
from mesa_memory.errors import LLMError
from mesa_memory.hosts.mesa import clock
from mesa_memory.hosts.mesa_llm import Names, NamesNow
from mesa_memory.layers.base import Layer, with_unique_names
from mesa_memory.layers.declared_state import StateGuard, watched
from mesa_memory.layers.view import Limits, StepView, begin, option_of
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.layer_names import layers_of, memories_of, new_layer
from mesa_memory.memories.host.reads import MemoryLock, MemoryReads
from mesa_memory.memories.host.state import restore_memory, snapshot_of
from mesa_memory.runtime.copies import serve_copy
from mesa_memory.runtime.flows import (
    MAX_WAITING_BATCHES,
    CommitQueue,
    EffectHandler,
    arun,
    run,
)
from mesa_memory.runtime.loop import background, elsewhere, in_event_loop
from mesa_memory.runtime.model_choice import ModelChoice
from mesa_memory.runtime.services import Services
from mesa_memory.tasks import Task

logger = logger_of(__name__)
_copying = threading.RLock()


class MemoryModule(MemoryReads):
    """Base of the package's memories; see Mesa-LLM's ``Memory`` for the protocol.

    A subclass chooses layers. What it may override besides is public: ``remember``,
    ``prompt_text``, ``format_long_term``, ``format_short_term``, ``step_begins``,
    ``step_ends``, ``system_for``, ``aprepare``, ``instant``, ``records``, ``snapshot``
    and ``restore``.

    Args:
        agent: the agent that owns the memory.
        llm_model: ``"provider/model"``; None asks the agent's own model.
        display: print each step's entry to the console.
        api_base: address of the provider, for self-hosted models.
        additive_event_types: kinds that accumulate within a step; by default
            ``{"message", "action"}``.
        layers: what the memory is made of, in the order shown; see ``Layer``.
        event_chars: longest text of one event in a prompt.
        section_chars: longest text of one section of a prompt.
        history_capacity: messages kept for ``messages`` and the history.
        repetitions: ``"fold"`` shows events that say the same as one line with their
            number; ``"keep"`` shows each by itself, as Mesa-LLM does.

    Attributes:
        layer: the memory's name among those of its agent, the second part of all ids.
        layers: as given.
        journal: all that it has noted: records, and events on their way.
        model_choice: which model is asked.
        work: its unfinished work.
        own_task: the task whose system text is the memory's ``system_prompt``.
    """

    layer = "memory"
    own_task: Task | None = None
    model_choice: ModelChoice
    work: CommitQueue
    _watched: Sequence[Any] = ()  # mostly none
    _model: Any = None  # for which ``_services`` are the services
    _services: Any = None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Makes the working parts, so that an unfinished object is already sound."""
        self = super().__new__(cls)
        self._lock = threading.RLock()
        self._exclusive = MemoryLock(self._lock)
        self.model_choice = ModelChoice(self)
        self.renew_work()
        self.journal = Journal(cls.layer, Inbox(self._lock))
        return self

    def __init__(
        self,
        agent: Any,
        llm_model: str | None = None,
        display: bool = False,
        api_base: str | None = None,
        additive_event_types: Iterable[str] | None = None,
        *,
        layers: Iterable[Layer] = (),
        event_chars: int = 1000,
        section_chars: int = 8000,
        history_capacity: int = HISTORY_MESSAGES,
        repetitions: str = FOLD,
    ) -> None:
        check_agent(agent, type(self).__name__)
        super().__init__(
            agent=agent,
            llm_model=None,
            display=display,
            additive_event_types=additive_event_types,  # type: ignore[arg-type]
        )
        self.event_chars = checked_int("event_chars", event_chars)
        self.section_chars = checked_int("section_chars", section_chars)
        self.history_capacity = checked_int("history_capacity", history_capacity)
        self.repetitions = checked_repetitions(repetitions)
        self.layer = self.journal.layer = new_layer(agent, type(self).layer)
        self.layers = with_unique_names(layers, self)
        for layer in self.layers:
            layer.join(self)
        self._watched = watched((self, *self.layers))
        self.model_choice.set_own(llm_model, api_base)

    # -- copies -----------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """The state without objects of this process; waits for unfinished work."""
        self._settle_all()
        process = ("work", "_lock", "_exclusive", "_model", "_services")
        state = {k: v for k, v in vars(self).items() if k not in process}
        return state | {"_batches": self.work.unfinished()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes up a state, with a queue of its own."""
        batches = state.get("_batches", ())
        self.__dict__.update({k: v for k, v in state.items() if k != "_batches"})
        self.journal.inbox.lock, self.journal.met = self._lock, None
        self._model = None
        for batch in batches:
            self.work.put(batch)

    def __deepcopy__(self, memo: dict) -> "MemoryModule":
        """A copy for the same agent; copied with its agent, for the agent's copy."""
        memo.setdefault(id(self.agent), self.agent)
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        self._settle_all()
        # One copy at a time: a copied model's memories are locked one inside another.
        with _copying, self.exclusive():
            twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
            if twin.agent is self.agent:  # which may hold both, or one after the other
                twin.journal.count_with(self.journal)
        serve_copy(self.agent.model, memo.get(id(self.agent.model)))
        return twin

    @property
    def services(self) -> Services:
        """The services of this agent's model."""
        model = self.agent.model
        known: Services = self._services if self._model is model else self._join(model)
        return known

    def _join(self, model: Any) -> Services:
        """Becomes a memory of this model: the model knows of its work and records."""
        self._model, self._services = model, Services.of(model)
        services: Services = self._services
        services.register_queue(self.work)
        self.journal.join(services.bus)
        if services.recorder is not None:
            services.recorder.met(self)
        return services

    def new_view(self, commit: Commit | None = None, **options: Any) -> StepView:
        """The facts of a batch, or of this moment.

        Args:
            options: of a read, see ``StepView``.
        """
        agent, services = self.agent, self.services
        return StepView(
            self,
            agent,
            self.clock if commit is None else commit.now,
            NamesNow(services.names or Names.of(agent.model)),
            services.wordings.of_agent(agent),
            services,
            Limits(self.event_chars, self.section_chars, self.repetitions),
            self.journal,
            commit,
            **options,
        )

    llm = Delegate("model_choice", "Mesa-LLM's llm object; may be replaced.")

    @property
    def clock(self) -> float:
        """See ``MemoryReads``."""
        now, lived = clock(self.agent.model), self.journal.lived
        return now if now >= lived else lived

    # -- arrival ------------------------------------------------------------------

    def add_to_memory(self, type: str, content: dict) -> None:
        """Stages an event; never waits, from any thread or event loop.

        Args:
            type: the kind of event, such as ``"message"``.
            content: copied as plain data, see ``content.plain``.

        Raises:
            TypeError: if content is not a dict.
        """
        self.arrive(type, content)

    async def aadd_to_memory(self, type: str, content: dict) -> None:
        """``add_to_memory``, for event loops; may wait for an embedder elsewhere."""
        self.add_to_memory(type, content)
        await self.aprepare(type)

    def arrive(self, kind: str, content: dict, origin: str = EVENT) -> MemoryRecord:
        """``add_to_memory``; returns the event's record, which is of this origin."""
        if not isinstance(content, dict):
            raise TypeError(
                "Expected 'content' to be dict, "
                f"got {content.__class__.__name__}: {content!r}"
            )
        agent, journal, now = self.agent, self.journal, self.clock
        names = self.services.names or Names.of(agent.model)
        kind, kept = plain_event(kind, content, names)
        if journal.met != now:
            names.meet(agent)
            journal.met = now
        with self._lock:
            event = journal.open_event(agent.unique_id, kind, now, kept, origin)
            late = journal.inbox.add(event)
        if origin == EVENT and kind in TELLING_KINDS:
            tell_audience(event, names)
        if late:
            self._commit_finished(now)
        return event

    # -- the step -------------------------------------------------------------------

    def process_step(self, pre_step: bool = False) -> None:
        """Begins (``pre_step=True``) or ends the agent's step.

        Raises:
            LLMError: if the memory's work met a fault that will not pass.
            MemoryStalled: if no request was answered for too many steps.
        """
        self._settle_all()
        services = self.services
        self._turn(pre_step, services)
        if pre_step:
            return
        if services.deferred:
            self.work.begin()
        else:
            self.work.settle(deferred=False)

    async def aprocess_step(self, pre_step: bool = False) -> None:
        """``process_step``, without blocking the event loop."""
        await self.work.asettle()
        services = self.services
        self._turn(pre_step, services)
        if pre_step:
            await self.aprepare("observation", once=True)
            return
        if services.deferred:
            self.work.begin()
        else:
            await self.work.asettle()

    def step_begins(self, now: float, waiting: Sequence[MemoryRecord]) -> None:
        """The agent's own step begins; by default there is nothing to do.

        ``waiting`` has the events that have come since its last one, oldest first.
        """

    def step_ends(self, now: float) -> None:
        """The agent's own step ends; its events are not admitted yet."""
        for layer in self.layers:
            if type(layer).step_ends is not Layer.step_ends:  # most have nothing to do
                layer.step_ends(self.view())

    def remember(self, view: StepView) -> Flow[None]:
        """Lets all layers think in turn; a failing layer does not stop the others.

        Called after each batch, and again after a failure: what is due must follow
        from the memory's state alone.

        Raises:
            LLMError, EmbedderError: the first fault, after all layers have thought.
        """
        faults = []
        for layer in self.layers:
            if type(layer).remember is Layer.remember:  # it does not think
                continue
            try:
                yield from layer.remember(view)
            except FAULTS as fault:
                faults.append(fault)
        if faults and (worst := first_fault(faults)):
            raise worst

    async def aget_prompt_ready(self, about: str | None = None) -> str:
        """``get_prompt_ready``, for event loops: work and embedder are awaited."""
        await self.asettle()
        with self.reads_about(about):
            await self.aprepare("observation", once=True)
            return self.get_prompt_ready()

    async def aprepare(self, kind: str, once: bool = False) -> None:
        """Gets ready for reads in an event loop; by default there is nothing to do.

        ``kind`` is the kind of the new event; ``once`` does not wait for later ones.
        """

    def system_for(self, task: Task, inputs: Mapping[str, Any]) -> str:
        """The system text of a task that is asked here."""
        own: Any = self
        is_own = task is self.own_task
        return own.system_prompt if is_own else self.instructions(task, inputs)

    def instructions(self, task: Task, inputs: Mapping[str, Any]) -> str:
        """The system text of a task, with the agent's task of this moment."""
        known = {**self.view().request_inputs, **inputs}
        return task.system(known, getattr(self.agent, "step_prompt", None))

    def instant(self) -> bool:
        """True if all of this memory's work is done without waiting."""
        return self.model_choice.asks_instantly()

    def _settle(self, commit: Commit) -> Flow[None]:
        """One batch, as of the time when it was committed."""
        view = self.new_view(commit=commit)
        begin(view)  # a flow has a context of its own, so there is nothing to take back
        watch = self._watch()
        for step, events in commit.groups:
            for layer in self.layers:
                layer.admit(view, step, events)
            self.show(step, events)
        yield from self.remember(view)
        self.close_dropped()
        if watch:
            watch.check(self.journal.undeclared)

    def _watch(self) -> StateGuard | None:
        """The attributes before some work; None if nothing is watched."""
        return StateGuard(self._watched) if self._watched else None

    def _turn(self, pre_step: bool, services: Services) -> None:
        """The agent's step begins or ends."""
        journal = self.journal
        # The user's clock is read first: whoever adds an event never waits for it.
        now, stands = self.now, not pre_step and not clock(self.agent.model)
        with self._exclusive:
            watch = self._watch()
            if pre_step:
                self.step_begins(now, journal.inbox.freeze(now))
            else:
                self.step_ends(now)
                self.work.max_failures = services.failures_allowed
                groups = journal.inbox.take(now)
                self.work.put(Commit(now, groups, services.bus.next_order()))
                if stands:  # the model has no clock, so count the agent's steps
                    journal.lived += 1
            if watch:  # the step's events are in the queue
                watch.check(journal.undeclared)

    def _commit_finished(self, now: float) -> None:
        """Commits earlier steps of an agent whose step hooks are not called."""
        if not self.journal.inbox.has_finished(now):
            return
        with self._lock:
            services = self.services
            groups = self.journal.inbox.take_finished(now)
            if not groups:
                return
            self.work.put(Commit(now, groups, services.bus.next_order()))
        if services.deferred:
            self.work.begin()
        elif len(self.work.waiting) > MAX_WAITING_BATCHES:
            self.work.begin(here=True)
        else:
            with suppress(LLMError):  # there is no model to ask: whoever reads is told
                if not self.instant():  # if nobody reads, it is joined at exit
                    background.start()

    def renew_work(self) -> None:
        """Begins a queue of its own, which the services get to know when they are asked."""
        self.work = CommitQueue(self._settle, lambda: EffectHandler(self), self._lock)
        self._model = None

    def run(self, flow: Flow[Any]) -> Any:
        """Runs a flow in this thread and returns its result."""
        return run(flow, EffectHandler(self))

    def run_aside(self, flow: Flow[Any]) -> Any:
        """``run``, in a thread in which no event loop runs."""
        return elsewhere(self.run, flow)

    async def arun(self, flow: Flow[Any]) -> Any:
        """``run``, for event loops: the flow is answered in the background."""
        work = arun(flow, EffectHandler(self))
        return await asyncio.wrap_future(background.submit(work))

    @property
    def in_event_loop(self) -> bool:
        """True if the other tasks of an event loop wait while ``run`` does."""
        return in_event_loop()

    def _settle_all(self) -> None:
        if not self.work.idle and self._exclusive.thread != threading.get_ident():
            self.work.settle(self.services.deferred)

    def settle(self, recall: bool = False) -> None:
        """See ``MemoryReads``."""
        if self._exclusive.thread == threading.get_ident():
            return  # it was done when this thread began to look
        peeks = self._peeks()
        if not peeks:
            self._commit_finished(self.now)
        self._settle_all()
        if recall and not peeks and self._commit_postponed():
            self._settle_all()

    async def asettle(self, recall: bool = False) -> None:
        """``settle``, for event loops."""
        peeks = self._peeks()
        if not peeks:
            self._commit_finished(self.now)
        await self.work.asettle()
        if recall and not peeks and self._commit_postponed():
            await self.work.asettle()

    def _peeks(self) -> bool:
        """True within a read that leaves no trace."""
        return bool(option_of(self, "unnoticed"))

    def _commit_postponed(self) -> bool:
        """Queues the work with which layers wait; True if there is any."""
        if not any(each.postponed() for each in self.layers):
            return False
        order = self.services.bus.next_order()
        self.work.put(Commit(self.now, [], order, recall=True))
        return True

    # -- state ------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """State that its records do not contain; read between two steps.

        The attributes that ``state`` names are in it; for others, extend this method
        and ``restore``.

        The work of finished steps must have been joined (``Services.flush``).
        """
        return snapshot_of(self)

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Replaces the memory's content by a snapshot.

        Args:
            snapshot: of a memory of this class with the same arguments.
            shelf: the records of that memory.
        """
        self.renew_work()
        restore_memory(self, snapshot, shelf)
        self.layer = self.journal.layer


# -- to whom a message went ------------------------------------------------------------


#: kinds of events that may say to whom their agent has spoken
TELLING_KINDS = ("message", "action")


def tell_audience(event: MemoryRecord, names: Names) -> None:
    """Completes the messages that an agent's own event says it has sent.

    Args:
        event: a message with its recipients, or an action such as ``speak_to``.
        names: of the model's agents.
    """
    if event.kind == "message":
        if event.sender == event.agent:
            _complete(event.content, names)
        return
    # The newest message of a text is the first to be completed.
    for text, recipients in reversed(deliveries(event.content)):
        told = {"message": text, "sender": event.agent, "recipients": recipients}
        _complete(plain_event("message", told, names)[1], names)


def _complete(message: dict[str, Any], names: Names) -> None:
    """Completes the copies of a message that its recipients have."""
    sender, text = message["sender"], message.get("message")
    recipients = recipients_of(message)
    for unique_id in recipients:
        agent = None if unique_id == sender else names.agent(unique_id)
        for memory in () if agent is None else _memories(agent):
            inbox = memory.journal.inbox
            inbox.complete(sender, text, recipients, memory.clock)


def _memories(agent: Any) -> Iterable[Any]:
    """The package's memories of an agent; of most it is the only one."""
    memory = getattr(agent, "memory", None)
    if len(layers_of(agent)) == 1 and hasattr(memory, "journal"):
        return (memory,)
    return [memory for _, memory in memories_of(agent)]
