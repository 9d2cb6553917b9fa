"""What all memories share: arrival, the two-phase step, joining, and plain reads.

``add_to_memory`` only stages. ``process_step(pre_step=True)`` joins this agent's
unfinished work and freezes what arrived; ``process_step()`` commits the step as one
batch, which ``_settle`` takes up: it admits the batch (plain) and then thinks
(``remember``, a generator of requests). A memory changes only after its last reply was
validated.
"""

import copy
import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mesa_llm.memory.memory import MemoryEntry

from mesa_memory.checks import whole
from mesa_memory.content import plain
from mesa_memory.copies import serve_copy
from mesa_memory.effects import Steps
from mesa_memory.memory.clock import clock
from mesa_memory.memory.entry import Entry
from mesa_memory.memory.saving import Saving
from mesa_memory.records import SUPERSEDED, Journal, MemoryRecord
from mesa_memory.scheduler import MAX_WAITING, Work
from mesa_memory.staging import Commit, Group, Staging, by_kind
from mesa_memory.subjects import counterpart

logger = logging.getLogger(__name__)


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

    def __new__(cls, *_: Any, **__: Any) -> "MemoryModule":
        """Makes the working parts, so that an unfinished object is already sound."""
        self = super().__new__(cls)
        self._staging = Staging()
        self._journal = Journal(cls.layer)
        self._log = deque()
        self._work = Work(self._settle, self._performer)
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
        super().__init__(
            agent=agent,
            llm_model=None,
            display=display,
            additive_event_types=additive_event_types,  # type: ignore[arg-type]
        )
        self.event_chars = whole("event_chars", event_chars)
        self.section_chars = whole("section_chars", section_chars)
        self.history_capacity = whole("history_capacity", history_capacity)
        self._model_name, self._api_base = llm_model, api_base
        if llm_model and self.services.llm is None:
            self._llm = self._module_llm(llm_model)  # checks the name and the key

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what belongs to this process; waits for unfinished work."""
        self._settle_all()
        process = ("_work", "_model", "_services")
        return {k: v for k, v in vars(self).items() if k not in process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes up a state; the entries belong to this memory's agent again."""
        self.__dict__.update(state)
        for entry in self._entries():
            if isinstance(entry, Entry):
                entry.bind(self.agent)

    def __deepcopy__(self, memo: dict) -> "MemoryModule":
        """A copy for the same agent; copied with its agent, for the agent's copy."""
        memo.setdefault(id(self.agent), self.agent)
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
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
        """``add_to_memory``, for event loops."""
        self.add_to_memory(type, content)

    @property
    def step_content(self) -> dict:
        """What arrived since the agent's step began: kind -> content or contents."""
        return by_kind(self._staging.arrived(), self.additive_event_types)

    @step_content.setter
    def step_content(self, content: Mapping[str, Any]) -> None:
        now = 0.0 if not content else clock(self.agent.model)
        events = []
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
        if pre_step:
            self._freeze()
            return
        self._commit()
        if self.services.deferred:
            self._work.begin()
        else:
            self._settle_all()

    async def aprocess_step(self, pre_step: bool = False) -> None:
        """``process_step``, without blocking the event loop."""
        await self._work.asettle()
        if pre_step:
            self._freeze()
            return
        self._commit()
        if self.services.deferred:
            self._work.begin()
        else:
            await self._work.asettle()

    def remember(self) -> Steps[None]:
        """Thinks about what was admitted, as far as it is due; by default not at all.

        Called after each batch, and again after a failure: what is due must follow
        from the memory's state alone.
        """
        return
        yield  # makes this a generator

    def _admit(self, groups: Sequence[Group]) -> None:
        """Takes up a batch without any request; by default nothing is kept."""

    def _settle(self, commit: Commit) -> Steps[None]:
        """One batch, as of the time when it was committed."""
        self._settling = commit
        try:
            self._admit(commit.groups)
            yield from self.remember()
        finally:
            self._settling = None

    def _arrive(self, kind: str, content: dict) -> MemoryRecord:
        """Stages an event, under the clock of this moment."""
        if not isinstance(content, dict):
            raise TypeError(
                "Expected 'content' to be dict, "
                f"got {content.__class__.__name__}: {content!r}"
            )
        now = clock(self.agent.model)
        with self._staging.lock:
            event = self._event(str(kind), plain(content), now)
            self._staging.add(event)
        self._commit_finished(now)
        return event

    def _freeze(self) -> None:
        self._staging.freeze(self._now())

    def _commit(self) -> None:
        self._work.max_failures = self.services.max_pending_steps
        now = self._now()
        self._put(now, self._staging.take(now))

    def _commit_finished(self, now: float) -> None:
        """Commits earlier steps of an agent whose step hooks are not called."""
        groups = self._staging.take_finished(now)
        if not groups:
            return
        self._put(now, groups)
        if self.services.deferred:
            self._work.begin()
        elif len(self._work.waiting) > MAX_WAITING:
            self._work.run_here()

    def _settle_all(self) -> None:
        self._work.settle(self.services.deferred)

    def _settled(self) -> None:
        """Before a read: commits finished steps and waits for unfinished work."""
        if not self._unnoticed:
            self._commit_finished(self._now())
        self._settle_all()

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
