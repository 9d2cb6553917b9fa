"""Writes a run into a store: lifetimes, recalls, prompts, calls, one step at a time.

The simulation's thread notes changes; at the end of each step of the model the
unfinished work of all memories is joined and the step is handed to the writer whole.
A step that was not finished leaves nothing behind.
"""

import logging
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from mesa_memory.background import at_exit
from mesa_memory.errors import StoreError
from mesa_memory.memory.clock import clock
from mesa_memory.recording import garbage
from mesa_memory.recording.attaching import Recording
from mesa_memory.recording.checkpoints import memories, snapshot
from mesa_memory.recording.handed import Handed
from mesa_memory.recording.noting import Noter
from mesa_memory.recording.stephook import StepHook
from mesa_memory.recording.tablerows import agent_row
from mesa_memory.records import Chronicle, MemoryRecord
from mesa_memory.stores.base import Store
from mesa_memory.stores.writer import LATE, Writer

logger = logging.getLogger(__name__)

#: where steps follow each other fast, making checkpoints takes about 1 / REST of the
#: time, unless that would be more seconds than a step waits for its checkpoint
REST, LONGEST_REST = 25, LATE / 2


class Recorder(Noter):
    """Writes what is noted, at the end of each step.

    Args:
        model: the Mesa model; held weakly.
        chronicle: of its memories.
        store, run: where to write.
        flush: joins the unfinished work of all memories.
        recording: how.

    Attributes:
        store, run: where the run is written.
        step: the last finished step; None before the first.
    """

    def __init__(
        self,
        model: Any,
        chronicle: Chronicle,
        store: Store,
        run: int,
        flush: Callable[[], None],
        recording: Recording,
    ) -> None:
        super().__init__(chronicle)
        self.store, self.run = store, run
        self.step: float | None = None
        self._resumable: float | None = None  # the last step with a checkpoint
        self._rest_until = 0.0
        self._model = weakref.ref(model)
        self._flush, self._recording = flush, recording
        self._known: set[str] = set()  # agents that are written
        # Rows of the others, who may be gone when the step ends.
        self._met = {name: agent_row(m) for name, m in memories(model).items()}
        self._writer: Writer | None = Writer(store, run)
        # The model holds the hook, and the hook this: nothing here keeps a model alive.
        model._user_step = StepHook(model._user_step, self.finish_step)
        weakref.finalize(model, _abandon, weakref.ref(self))
        chronicle.observers.append(self)
        _running.add(self)
        garbage.look_less()

    @property
    def model(self) -> Any:
        """The model; None once it is gone."""
        return self._model()

    @property
    def active(self) -> bool:
        """True while the run is being written."""
        return self._writer is not None

    def met(self, memory: Any) -> None:
        """A memory is going to be used; its agent may be gone at the end of the step."""
        row = agent_row(memory)
        if row["agent"] not in self._known:
            self._met[row["agent"]] = row

    # -- the step -----------------------------------------------------------------

    def finish_step(self) -> None:
        """The model's step has ended: joins all memories and hands the step over.

        Raises:
            LLMError, MemoryStalled: of a memory whose work failed.
            StoreError: if the store fails, unless the run may go on unrecorded.
        """
        model = self._model()
        if self.muted or model is None or not self.active:
            return
        self._flush()
        self.step = clock(model)
        assert self._writer is not None
        every = self._recording.checkpoint_every
        kept = every is not None and self.step % every == 0
        rested = time.monotonic() >= self._rest_until
        self._hand_over(kept, kept or (rested and self._writer.eager))

    def begin_at(self, step: float) -> None:
        """The model has been put at the end of a recorded step; from here it goes on.

        What was noted until now belongs to no step of the run.
        """
        self._taken()
        self._vectors.clear()
        self._known.clear()
        self.step, self.muted = step, False
        self._resumable = step

    def close(self, state: str | None = None) -> None:
        """Writes what is left and ends the run; again does nothing.

        Args:
            state: by default ``"finished"``, or ``"failed"`` if a step was begun and
                not finished.

        Raises:
            StoreError: if the store fails.
        """
        if not self.active:
            return
        model = self._model()
        half = model is not None and clock(model) > (self.step or 0)
        if not half:
            self.checkpoint()
        if self._changes and not half:
            self._hand_over(finished=False)
        writer, self._writer = self._writer, None
        self._detach()
        if writer is not None:
            writer.close()
            self.store.end(self.run, state or ("failed" if half else "finished"))

    def checkpoint(self) -> None:
        """Makes sure that the run can go on from the end of its last finished step.

        Steps that follow each other fast do not each have a checkpoint. Does nothing if
        a memory has changed since that step.

        Raises:
            StoreError: if the store fails.
        """
        model = self._model()
        if self._resumable == self.step or self.step is None or model is None:
            return
        if self.active and not self._changes.lasting and clock(model) == self.step:
            self._hand_over(resumable=True, finished=False)

    def sync(self) -> None:
        """Waits until every finished step is in the store.

        Raises:
            StoreError: if the store fails.
        """
        self.checkpoint()
        if self._writer is not None:
            self._writer.flush()

    def _hand_over(
        self, kept: bool = False, resumable: bool = False, finished: bool = True
    ) -> None:
        changes, step = self._taken(), self.step or 0
        changes.agents = self._new_agents(changes.opened)
        state = self._snapshot(step) if resumable else None
        assert self._writer is not None
        try:
            self._writer.put(Handed(step, changes, state, kept, finished))
        except StoreError as error:
            self._detach()
            self._writer = None
            if self._recording.on_failure == "stop":
                raise
            logger.warning("%s The run goes on unrecorded.", error)

    def _snapshot(self, step: float) -> dict[str, Any]:
        """What the run can go on from; the next one comes after a rest."""
        began = time.thread_time()
        state = snapshot(self._model())
        rest = min(LONGEST_REST, REST * (time.thread_time() - began))
        self._resumable, self._rest_until = step, time.monotonic() + rest
        return state

    def _new_agents(self, opened: Iterable[MemoryRecord]) -> list[dict]:
        """Rows of the agents who remember something for the first time."""
        new = {str(agent) for agent in {record.agent for record in opened}}
        new -= self._known
        model = self._model()
        if not new or model is None:
            return []
        self._known |= new
        here = memories(model)
        self._met |= {name: agent_row(here[name]) for name in new & here.keys()}
        return [self._met.pop(name) for name in sorted(new) if name in self._met]

    def _detach(self) -> None:
        if self in self._chronicle.observers:
            self._chronicle.observers.remove(self)
        model = self._model()
        if model is not None:
            hook = model._user_step
            if isinstance(hook, StepHook) and hook.then == self.finish_step:
                model._user_step = hook.inner
        _running.discard(self)
        if not _running:
            garbage.look_as_before()


_running: set[Recorder] = set()


def _abandon(recorder: "weakref.ref[Recorder]") -> None:
    """The model is gone: nothing more will come."""
    left = recorder()
    if left is not None:
        try:
            left.close("stopped")
        except StoreError:  # nobody is left to catch it
            logger.exception("the record of a run could not be finished")


def _close_all() -> None:
    for recorder in list(_running):
        try:
            recorder.close()
        except Exception:  # nobody is left to catch it; the others still want theirs
            logger.exception("the record of a run could not be finished at exit")


at_exit(_close_all)
