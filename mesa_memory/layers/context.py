"""The context of a memory's layers: their agent, time, records and requests."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from mesa_memory.core.content import kind_text, plain
from mesa_memory.core.events import ROUTINE_KINDS, counterpart
from mesa_memory.core.inbox import Commit, Group, Inbox
from mesa_memory.core.records import EVENT, EVICTED, REASONS, MemoryRecord, RecordLog
from mesa_memory.core.requests import LLMRequest
from mesa_memory.core.text.thinking import decision
from mesa_memory.core.wording import Voice, Wording
from mesa_memory.hosts.mesa import clock
from mesa_memory.hosts.mesa_llm import Names, NamesNow
from mesa_memory.layers.declared_state import held_by
from mesa_memory.layers.view import StepView, current_view, read_option

#: messages that the history keeps, unless a memory says otherwise
HISTORY_MESSAGES = 50


class LayerContext:
    """Shared by all layers of one memory.

    Attributes:
        agent: the agent that remembers; set by the memory.
        inbox: the events that have arrived since the last finished step.
        runtime: who is asked, and who is told; set by the memory.
        event_chars: longest text of one event in a prompt.
        section_chars: longest text of one section of a prompt.
        additive_event_types: kinds of events that accumulate within a step.
        history: records of the newest messages heard and sent, oldest first.
        display: whether each step's events are printed.
        shared: several layers hold the same events, and think at the same time.
        leaving: why and when a layer has evicted a record that another one holds,
            by id.
        filtered: ids of the events that a provider's content filter refuses.
        pinned: the facts of the agent's biography, in the order of its table.
        before: how many records of each kind there were when the memory was exchanged.
        made_by: what made the memory in the place of the model, as ``arguments.encode``
            writes it; None if the model itself did.
        lived: own steps of the agent that ended while the model's clock stood still.
        undeclared: attributes that no snapshot keeps, as far as they were reported.
        met: the clock when the model's ``names`` took note of the agent last.
        budget_used: what became of the budget of a text that is being read, for the
            recorder; None without one.
    """

    agent: Any
    runtime: Any = None
    event_chars = 1000
    section_chars = 8000
    lived = 0
    made_by: Any = None
    before: Mapping[str, int] = {}
    budget_used: Mapping[str, Any] | None = None
    display = False
    shared = False

    def __init__(self, layer: str, inbox: Inbox | None = None) -> None:
        self.leaving: dict[str, tuple[str, float]] = {}
        self.filtered: dict[str, None] = {}
        self.pinned: list[MemoryRecord] = []
        self.undeclared: set[str] = set()
        self.met: float | None = None  # here: a copy may be made while this changes
        self._log = RecordLog(layer)
        self.inbox = inbox or Inbox()
        self.history: deque[MemoryRecord] = deque(maxlen=HISTORY_MESSAGES)
        self.additive_event_types: set[str] = {"message", "action"}

    @property
    def layer(self) -> str:
        """The memory's name among those of its agent, the second part of all ids."""
        return self._log.layer

    @property
    def log(self) -> RecordLog:
        """Makes, closes and numbers the records; tells the run's observers.

        The observers belong to the agent's model, also after the memory was restored,
        copied or given to another model.
        """
        if self.runtime is not None:
            self._log.join(self.runtime.services.bus)
        return self._log

    @property
    def history_capacity(self) -> int:
        """The number of messages that the history keeps."""
        return self.history.maxlen or 0

    @history_capacity.setter
    def history_capacity(self, capacity: int) -> None:
        self.history = deque(self.history, capacity)

    # -- time -----------------------------------------------------------------------

    @property
    def view(self) -> StepView:
        """The facts of the read or the batch under way, see ``StepView``."""
        return self.runtime.memory.view()

    @property
    def commit(self) -> Commit | None:
        """The batch of steps that this thread or task is taking up."""
        view = current_view(self.runtime.memory)
        return None if view is None else view.commit

    @property
    def clock(self) -> float:
        """The model's clock; the agent's own steps, while that stands still at 0."""
        now, lived = clock(self.agent.model), self.lived
        return now if now >= lived else lived

    @property
    def now(self) -> float:
        """The model's clock; for work under way, the clock when it was committed.

        Deferred work ends when the answers come, which must not show in any record.
        """
        view = current_view(self.runtime.memory)
        return self.clock if view is None else view.now

    # -- records --------------------------------------------------------------------

    def open(self, kind: str, step: float, content: Any, **fields: Any) -> MemoryRecord:
        """A new current record of this memory; see ``records.MemoryRecord``."""
        commit = self.commit
        fields.setdefault("commit_order", commit and commit.order)
        return self.log.open(self.agent.unique_id, kind, step, content, **fields)

    def plain_event(self, kind: Any, content: Any) -> tuple[str, Any]:
        """Kind and content of an event as plain data, without a model's thinking.

        A message names people by id.
        """
        kind = kind_text(kind)
        if not isinstance(content, Mapping):  # a program may set ``step_content``
            content = {"text": content}
        if kind == "message":
            content = self.all_names.with_ids(content)
        own = kind in ROUTINE_KINDS
        kept = plain(content)
        texts = {key: text for key, text in kept.items() if isinstance(text, str)}
        return kind, kept | {key: decision(text, own) for key, text in texts.items()}

    def open_event(
        self, kind: str, step: float, content: Any, origin: str = EVENT, **fields: Any
    ) -> MemoryRecord:
        """Opens a record of an event; messages go into the history.

        Args:
            content: plain data.
            fields: further ones of the record.
        """
        me = self.agent.unique_id
        about = counterpart(kind, content, me)
        fields = {"subject": about, "origin": origin, **fields}
        record = self.log.open(me, kind, step, content, **fields)
        if kind == "message":
            self.history.append(record)
        return record

    def close(
        self, record: MemoryRecord, reason: str, by: MemoryRecord | None = None
    ) -> None:
        """Ends a record's lifetime now; a closed record stays as it is."""
        self.leaving.pop(record.id, None)
        if record.current:
            self.log.close(record, self.now, reason, by=by)

    def release(
        self,
        records: Iterable[MemoryRecord],
        reason: str,
        step: float,
        layer: Any = None,
    ) -> None:
        """A layer holds records no more; each ends once no layer holds it.

        Events end after the batch, in ``close_dropped``: other layers may take them up
        later. What a memory has made ends now, unless another layer holds it.

        Args:
            reason: one of ``records.REASONS``; of several, the last in their order counts.
            step: of the end.
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
        for record in records:
            if not record.current:
                continue
            known, _ = self.leaving.get(record.id, (reason, step))
            self.leaving[record.id] = max(known, reason, key=REASONS.index), step
            if record.origin != EVENT and not self._is_held_beside(layer, record):
                self._end(record)

    def _is_held_beside(self, layer: Any, record: MemoryRecord) -> bool:
        """True if another layer holds a record."""
        layers = self.runtime.memory.layers if layer is not None else ()
        return any(record in held_by(each) for each in layers if each is not layer)

    def _end(self, record: MemoryRecord) -> None:
        """Closes a record for the reason that was given, or else as evicted."""
        reason, step = self.leaving.pop(record.id, (EVICTED, self.now))
        self.log.close(record, step, reason)

    def pending(self) -> list[Group]:
        """Events that are not admitted yet, by step, oldest step first."""
        steps: dict[float, list[MemoryRecord]] = {}
        for step, events in (g for c in self.runtime.work.waiting for g in c.groups):
            steps.setdefault(step, []).extend(events)
        for event in self.inbox.events():
            steps.setdefault(event.step, []).append(event)
        return sorted(steps.items(), key=lambda group: group[0])

    def dropped(self) -> dict[str, MemoryRecord]:
        """The open records that nothing holds, by id, in order of making."""
        held = set(self._held())
        # Looked at without observers: a memory may be set up before it has its agent.
        return {r.id: r for r in self._log.current() if r not in held}

    def close_dropped(self) -> None:
        """Closes the open records that nothing holds."""
        for record in self.dropped().values():
            self._end(record)

    def _held(self) -> list[MemoryRecord]:
        """The records that inbox, queue and layers hold, in any order."""
        held = [event for _, events in self.pending() for event in events]
        for layer in self.runtime.memory.layers:
            held += held_by(layer)
        held += self.runtime.memory.records()
        return held + self.pinned

    # -- what is said, and asked ----------------------------------------------------

    @property
    def all_names(self) -> Names:
        """The names of the model's agents, also of those that have left."""
        return Names.of(self.agent.model)

    @property
    def names(self) -> NamesNow:
        """Gives an agent's name by its unique id."""
        return self.view.names

    @property
    def wording(self) -> Wording:
        """The words of all that the agent and its model are told."""
        return self.view.wording

    @property
    def unnoticed(self) -> bool:
        """True during a read that must leave no trace."""
        return bool(read_option(self.runtime.memory, "unnoticed"))

    def line(self, event: MemoryRecord) -> str:
        """An event on one line, as requests tell it: everybody by name."""
        return self.view.line(event)

    def own_line(self, event: MemoryRecord) -> str:
        """An event on one line, as the agent itself is told: it is "you"."""
        return self.view.own_line(event)

    def told(self, part: str, **values: Any) -> str:
        """A text of the prompt file ``memory``."""
        return self.view.told(part, **values)

    @property
    def voice(self) -> Voice:
        """Names and words in requests about this memory."""
        return self.view.voice

    @property
    def own_voice(self) -> Voice:
        """Names and words in what the agent itself is told."""
        return self.view.own_voice

    def request_for(self, task: Any, /, **inputs: Any) -> LLMRequest:
        """The request that ``ask`` sends."""
        return self.view.request_for(task, **inputs)

    def origin(self, **more: Any) -> dict[str, Any]:
        """The agent, the memory and the step, for the recorder."""
        agent = self.agent.unique_id
        return {"agent": agent, "layer": self.layer, "step": self.now, **more}
