"""What all memories share: arrival, the two-phase step, joining, and plain reads.

``add_to_memory`` only stages. ``process_step(pre_step=True)`` joins this agent's
unfinished work and freezes what arrived; ``process_step()`` commits the step as one
batch, which ``_settle`` takes up: it admits the batch (plain) and then thinks
(``remember``, a generator of requests). A memory changes only after its last reply was
validated.
"""

import asyncio
import copy
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.core.content import plain
from mesa_memory.core.flow import arun
from mesa_memory.core.inbox import Commit, Group, Inbox, by_kind
from mesa_memory.core.participants import counterpart
from mesa_memory.core.records import SUPERSEDED, MemoryRecord, RecordLog
from mesa_memory.core.redaction import logger as logger_of
from mesa_memory.core.requests import Flow
from mesa_memory.core.validate import check_agent, whole
from mesa_memory.hosts.mesa import clock
from mesa_memory.memories.doing import SETTLING, UNNOTICED
from mesa_memory.memories.entry import Entry
from mesa_memory.memories.layers import new_layer
from mesa_memory.memories.saving import Saving
from mesa_memory.runtime.copies import serve_copy
from mesa_memory.runtime.loop import background
from mesa_memory.runtime.queue import MAX_WAITING, CommitQueue

logger = logger_of(__name__)

_copying = threading.RLock()


class MemoryModule(Saving):
    """Base of the package's memories; see Mesa-LLM's ``Memory`` for the protocol.

    Args:
        agent: the agent that owns the memory.
        llm_model: ``"provider/model"``; None asks the agent's own model.
        display: print each step's entry to the console.
        api_base: address of the provider, for self-hosted models.
        additive_event_types: kinds that accumulate within a step; by default
            ``{"message", "action"}``.
        event_chars: longest text of one event in a prompt.
        section_chars: longest text of one section of a prompt.
        history_capacity: messages kept for ``messages`` and the history.
    """

    layer = "memory"
    _awaited = False  # True in a step that began by ``aprocess_step``

    def __new__(cls, *_: Any, **__: Any) -> "MemoryModule":
        """Makes the working parts, so that an unfinished object is already sound."""
        self = super().__new__(cls)
        self._lock = threading.RLock()
        self._alone_in = None
        self._staging = Inbox(self._lock)
        self._journal = RecordLog(cls.layer)
        self._log = deque()
        self._work = CommitQueue(self._settle, self._performer, self._lock)
        return self

    def __init__(
        self,
        agent: Any,
        llm_model: str | None = None,
        display: bool = False,
        api_base: str | None = None,
        additive_event_types: Iterable[str] | None = None,
        *,
        event_chars: int = 1000,
        section_chars: int = 8000,
        history_capacity: int = 50,
    ) -> None:
        check_agent(agent, type(self).__name__)
        super().__init__(
            agent=agent,
            llm_model=None,
            display=display,
            additive_event_types=additive_event_types,  # type: ignore[arg-type]
        )
        self.event_chars = whole("event_chars", event_chars)
        self.section_chars = whole("section_chars", section_chars)
        self.history_capacity = whole("history_capacity", history_capacity)
        self.layer = self._journal.layer = new_layer(agent, type(self).layer)
        self._model_name, self._api_base = llm_model, api_base
        services = self.services  # from now on the model's steps are guarded
        if llm_model and services.llm is None:
            self._llm = self._module_llm(llm_model)  # checks the name and the key

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what belongs to this process; waits for unfinished work."""
        self._settle_all()
        process = ("_work", "_model", "_services", "_lock", "_alone_in")
        state = {k: v for k, v in vars(self).items() if k not in process}
        return state | {"_batches": self._work.unfinished()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes up a state; the entries belong to this memory's agent again."""
        batches = state.get("_batches", ())
        self.__dict__.update({k: v for k, v in state.items() if k != "_batches"})
        self._staging.lock = self._lock
        for batch in batches:
            self._work.put(batch)
        for entry in self._entries():
            if isinstance(entry, Entry):
                entry.bind(self.agent)

    def __deepcopy__(self, memo: dict) -> "MemoryModule":
        """A copy for the same agent; copied with its agent, for the agent's copy."""
        memo.setdefault(id(self.agent), self.agent)
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        self._settle_all()
        # One copy at a time: a copied model's memories are locked one inside another.
        with _copying, self._alone():
            twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        serve_copy(self.agent.model, memo.get(id(self.agent.model)))
        return twin

    # -- arrival ------------------------------------------------------------------

    def add_to_memory(self, type: str, content: dict) -> None:
        """Stages an event; never waits, from any thread or event loop.

        Args:
            type: the kind of event, such as ``"message"``.
            content: copied as plain data, see ``content.plain``.

        Raises:
            TypeError: if content is no dict.
        """
        self._arrive(type, content)

    async def aadd_to_memory(self, type: str, content: dict) -> None:
        """``add_to_memory``, for event loops; may wait for an embedder elsewhere."""
        self.add_to_memory(type, content)
        await self._aprepare(type)

    @property
    def step_content(self) -> dict:
        """What arrived since the agent's step began: kind -> content or contents."""
        return by_kind(self._staging.arrived(), self.additive_event_types)

    @step_content.setter
    def step_content(self, content: Mapping[str, Any]) -> None:
        now = 0.0 if not content else self._clock()
        events = []
        with self._lock:
            for kind, given in content.items():
                several = kind in self.additive_event_types and isinstance(given, list)
                for item in given if several else [given]:
                    events.append(self._event(kind, plain(item), now))
            for event in self._staging.replace_arrived(events):
                self._journal.close(event, event.step, SUPERSEDED)

    # -- the step -------------------------------------------------------------------

    def process_step(self, pre_step: bool = False) -> None:
        """Begins (``pre_step=True``) or ends the agent's step.

        Raises:
            LLMError: if the memory's work met a fault that will not pass.
            MemoryStalled: if passing faults went on for too long.
        """
        self._settle_all()
        self._turn(pre_step)
        self._awaited = False
        if pre_step:
            return
        if self.services.deferred:
            self._work.begin()
        else:
            self._settle_all()

    async def aprocess_step(self, pre_step: bool = False) -> None:
        """``process_step``, without blocking the event loop."""
        await self._work.asettle()
        self._turn(pre_step)
        self._awaited = pre_step
        if pre_step:
            await self._aprepare("observation", once=True)
            return
        if self.services.deferred:
            self._work.begin()
        else:
            await self._work.asettle()

    def prepare(self) -> Flow[bool]:
        """Gets ready for reads in an event loop; by default there is nothing to do.

        Returns:
            False if that is not possible now.
        """
        return True
        yield  # makes this a generator

    def prepared(self) -> bool:
        """True if a read at this moment would wait for nobody."""
        return True

    async def _aprepare(self, kind: str, once: bool = False) -> None:
        """``prepare``, once something has come that a read will be about.

        More may come meanwhile. Whoever awaits this goes on as soon as it is done, and
        may then read before anything else happens.

        Args:
            once: do not wait for what comes meanwhile.
        """
        if kind != "observation" or self.services.embeds_here:
            return
        able = True
        while able:
            ready = arun(self.prepare(), self._performer())
            able = await asyncio.wrap_future(background.submit(ready))
            if once or self.prepared():
                return

    def remember(self) -> Flow[None]:
        """Thinks about what was admitted, as far as it is due; by default not at all.

        Called after each batch, and again after a failure: what is due must follow
        from the memory's state alone.
        """
        return
        yield  # makes this a generator

    def _admit(self, groups: Sequence[Group]) -> None:
        """Takes up a batch without any request; by default nothing is kept.

        What is not held when the step's work has ended is closed, see ``close_dropped``.
        """

    def _settle(self, commit: Commit) -> Flow[None]:
        """One batch, as of the time when it was committed."""
        # Whoever waits for the work may be reading unnoticed; the work is not.
        with SETTLING.on(self, commit), UNNOTICED.on(self, False):
            self._admit(commit.groups)
            yield from self.remember()
            self.close_dropped()

    def _arrive(self, kind: str, content: dict) -> MemoryRecord:
        """Stages an event, under the clock of this moment."""
        if not isinstance(content, dict):
            raise TypeError(
                "Expected 'content' to be dict, "
                f"got {content.__class__.__name__}: {content!r}"
            )
        self._names.meet(self.agent)
        now, kept = self._clock(), plain(content)
        with self._lock:
            event = self._event(str(kind), kept, now)
            self._staging.add(event)
        self._commit_finished(now)
        return event

    def _turn(self, pre_step: bool) -> None:
        """The agent's step begins or ends."""
        # The user's clock is read first: whoever adds an event never waits for it.
        now, stands = self._now(), not clock(self.agent.model)
        with self._alone():
            if pre_step:
                self._freeze(now)
                return
            self._commit(now)
            if stands:  # nobody moves the clock: the agent's steps count
                self._lived += 1

    def _freeze(self, now: float) -> None:
        self._staging.freeze(now)

    def _commit(self, now: float) -> None:
        self._work.max_failures = self.services.failures_allowed
        self._put(now, self._staging.take(now))

    def _commit_finished(self, now: float) -> None:
        """Commits earlier steps of an agent whose step hooks are not called."""
        with self._lock:
            groups = self._staging.take_finished(now)
            if not groups:
                return
            self._put(now, groups)
        if self.services.deferred:
            self._work.begin()
        elif len(self._work.waiting) > MAX_WAITING:
            self._work.run_here()
        elif not self._instant():
            background.start()  # if nobody reads the memory, it is joined at exit

    def _steps_awaited(self) -> bool:
        """True inside the agent's own ``astep``, beside which others may go on.

        Mesa-LLM's own ``astep`` only calls ``step``.
        """
        own = getattr(type(self.agent), "astep", None)
        return self._awaited and own not in (None, LLMAgent.astep)

    def _settle_all(self) -> None:
        if self._alone_in != threading.get_ident():
            self._work.settle(self.services.deferred)

    def _settled(self) -> None:
        """Before a read: commits finished steps and waits for unfinished work."""
        if self._alone_in == threading.get_ident():
            return  # it was done when this thread began to look
        if not UNNOTICED.of(self):
            self._commit_finished(self._now())
        self._settle_all()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Meanwhile no other thread changes the memory; none of its work is awaited."""
        with self._lock:
            before, self._alone_in = self._alone_in, threading.get_ident()
            try:
                yield
            finally:
                self._alone_in = before

    def _event(self, kind: str, content: Any, now: float) -> MemoryRecord:
        about = counterpart(kind, content, self.agent.unique_id)
        record = self._open(kind, now, content, among=None, subject=about)
        if kind == "message":
            self._log.append(record)
            while len(self._log) > self.history_capacity:
                self._log.popleft()
        return record

    def _show(self, entry: MemoryEntry) -> None:
        """Prints an entry if asked to; a console that cannot must not stop a run."""
        if not self.display:
            return
        try:
            entry.display()
        except (OSError, ValueError) as error:
            logger.warning("step %s is not displayed: %s", entry.step, error)
