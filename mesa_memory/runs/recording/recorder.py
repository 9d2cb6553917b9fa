"""Writes a run into a store: lifetimes, recalls, prompts, calls, one step at a time.

The simulation's thread notes changes; at the end of each step the unfinished work of
all memories is joined, and the step is handed to the writer whole. An unfinished step
leaves only the answers that were paid for. A step in which a model was asked is written
before the next one begins.
"""

import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import StoreError
from mesa_memory.hosts.mesa import StepObserver, clock
from mesa_memory.memories.host.layer_names import memories
from mesa_memory.runs.recording.checkpoints import snapshot, warn_of_beside
from mesa_memory.runs.recording.collector import (
    Call,
    Collector,
    MemoryPresence,
    PromptFileLog,
    WorldLog,
)
from mesa_memory.runs.recording.config import Recording
from mesa_memory.runs.recording.replay import PaidAnswers, answer_row
from mesa_memory.runs.recording.rows import agent_row, batch_of
from mesa_memory.runtime.loop import at_exit
from mesa_memory.runtime.services import Services
from mesa_memory.stores.base import Batch
from mesa_memory.stores.sql import Store, in_transaction
from mesa_memory.stores.writer import Writer

logger = logger_of(__name__)

#: seconds between two checkpoints, while no model is asked
CHECKPOINT_INTERVAL_S = 0.25


class Recorder(Collector):
    """Writes the collected changes, at the end of each step.

    Args:
        model: the Mesa model; held weakly.
        services: of the model.
        store, run: where to write.
        recording: how.

    Attributes:
        services: of the model.
        store, run: where the run is written.
        step: the last finished step; None before the first.
    """

    def __init__(
        self,
        model: Any,
        services: Services,
        store: Store,
        run: int,
        recording: Recording,
    ) -> None:
        super().__init__(services.bus)
        self.store, self.run = store, run
        self.step: float | None = None
        self._resumable: float | None = None  # the last step with a checkpoint
        self._model, self.services = weakref.ref(model), services
        self._recording = recording
        self._known, self._beside = set[str](), set[str]()  # written, warned of
        self._checkpoint_at = 0.0  # the time of the next one, if no model is asked
        self._asked = False  # a model, since the last finished step
        self._answers = PaidAnswers()
        # Rows of the others, who may be gone when the step ends.
        self._met = {name: agent_row(m) for name, m in memories(model).items()}
        self._world, self._prompt_files = WorldLog(), PromptFileLog()
        self._presence = MemoryPresence(super().closed)
        self._presence.begin_at(memories(model))
        self._writer: Writer | None = Writer(store, run)
        # The model holds the watch, and the watch this: nothing here keeps a model alive.
        self._observer = StepObserver(model, self._over)
        weakref.finalize(model, _abandon, weakref.ref(self))
        self.bus.observers.append(self)
        _running.add(self)

    @property
    def model(self) -> Any:
        """The model; None once it is gone."""
        return self._model()

    @property
    def active(self) -> bool:
        """True while the run is being written."""
        return self._writer is not None

    @property
    def writes_here(self) -> bool:
        """True in the thread that writes the run, which cannot wait for itself."""
        return self._writer is not None and self._writer.is_current_thread()

    @property
    def has_memories(self) -> bool:
        """True if an agent with a memory was met."""
        return bool(self._known or self._met)

    def met(self, memory: Any) -> None:
        """Notes an agent with a memory; it may be gone at the end of the step."""
        row = agent_row(memory)
        if row["agent"] not in self._known:
            self._met[row["agent"]] = row
        self._presence.meet(memory.agent)

    def closed(self, record: MemoryRecord) -> None:
        """See ``Observer``; a memory put aside changes no record."""
        if not self._presence.has_ended(record):
            super().closed(record)

    @property
    def stands(self) -> bool:
        """True between two steps of the model."""
        return self.model is not None and not self._observer.unfinished

    # -- the step -----------------------------------------------------------------

    def _over(self, step: bool) -> None:
        """Called when all events at one time of the model are over.

        Args:
            step: the user's step was part of it.
        """
        model = self._model()
        if step or (model is not None and clock(model) > (self.step or 0)):
            self.finish_step()

    def finish_step(self) -> None:
        """The model's step has ended: joins all memories and hands the step over.

        Raises:
            LLMError, MemoryStalled: of a memory whose work failed.
            StoreError: if the store fails, unless the run may go on unrecorded.
        """
        model = self._model()
        if model is None or not self.active:
            return
        self.services.flush()
        self.close_dropped()
        self.step = now = clock(model)
        if self.muted:  # the step is in the store already
            self.taken()
            return
        outcomes = self.services.outcomes
        self.changes.rows.scenes = self._world.rows(model, outcomes, now)
        self.observe(model)
        every = self._recording.checkpoint_every
        # A step with a change by hand cannot be repeated from an earlier one.
        kept = bool(self.changes.rows.interventions) or bool(every and not now % every)
        asked, self._asked = self._asked, False
        resumable = kept or asked or time.monotonic() >= self._checkpoint_at
        self._hand_over(kept, resumable, wait=asked)

    def observe(self, model: Any) -> None:
        """Lets the recording's ``each_step`` look at the model, which leaves no trace."""
        each_step, muted = self._recording.each_step, self.muted
        if each_step is not None:
            self.muted = True
            try:
                each_step(model)
            finally:
                self.muted = muted

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Within ``each_step``: calls are recorded, as they are paid for."""
        muted, self.muted = self.muted, False
        try:
            yield
        finally:
            self.muted = muted

    def begin(self, answers: PaidAnswers | None = None) -> None:
        """Begins the run, with the paid answers of an unfinished step if there are any."""
        self.muted, self._observer.active = False, True
        self._answers = answers or self._answers

    def begin_at(self, run: int, step: float, answers: PaidAnswers) -> None:
        """Starts the recording of a model that was restored to the end of a step.

        Changes noted until now are dropped; ``answers`` are of the unfinished step.
        """
        self.taken()
        self.noted_vectors.clear()
        self._known.clear()
        if (model := self._model()) is not None:
            self._presence.begin_at(memories(model))
        self.run, self.step, self._resumable = run, step, step
        self._world.take_up(self.store, run)
        if self._writer is not None:
            self._writer.run = run
        self.begin(answers)

    def follow(self) -> None:
        """Joins the memories after each step of a model that repeats recorded steps."""
        self._presence.begin_at(memories(self.model))
        self._observer.active = True

    def paid(self, call: Call) -> None:
        """Writes an answer at once, so that it is not requested again after a kill."""
        self._asked = True
        if self._writer is not None:
            row = answer_row(call)
            self._writer.note(Batch(self.step or 0, unfinished=[row], finished=False))

    def paid_before(self, request: LLMRequest) -> Reply | None:
        """The answer that an unfinished step has paid for; it is noted as a call."""
        if self.muted or not self._answers:
            return None
        if (reply := self._answers.take(request)) is not None:
            self._asked = True
            self.called(request, self.began(request), reply, None, replayed=False)
        return reply

    def abandon(self) -> None:
        """Ends a recording that has not begun; nothing is written."""
        self.taken()
        writer, self._writer = self._writer, None
        self._detach()
        if writer is not None:
            writer.close()

    def close(self, state: str | None = None) -> None:
        """Writes the rest and ends the run; a second call does nothing.

        Args:
            state: by default ``"finished"``, or ``"failed"`` if a step was begun and
                not finished.

        Raises:
            StoreError: if the store fails.
        """
        if not self.active:
            return
        if self.muted:
            self.abandon()
            return
        model = self.model
        late = self.step is None and model is not None and clock(model) > 0
        half = late or not (model is None or self.stands)
        if not half:
            self.close_dropped()
            self.checkpoint(extends=True)
            if self.active:  # what is left if the model is gone, or at its beginning
                self._hand_over(finished=False)
        writer, self._writer = self._writer, None
        self._detach()
        if writer is not None:
            try:
                writer.close()
                self.store.end(self.run, state or ("failed" if half else "finished"))
            finally:
                self._release()

    def checkpoint(self, extends: bool = False) -> None:
        """Makes sure that the run can be resumed from its last finished step.

        Steps that follow each other fast do not each have one, and none is made within
        a step.

        Args:
            extends: the model as it is now becomes the end of that step, with what was
                changed since; if False, and a memory has changed, none is made.

        Raises:
            StoreError: if the store fails.
        """
        if self.step is None or not self.active or not self.stands:
            return
        if extends:
            kept = bool(self.changes.rows.interventions)  # see ``finish_step``
            self._hand_over(kept, resumable=True, finished=False, extends=True)
        elif self._resumable != self.step and not self.changes.lasting:
            self._hand_over(resumable=True, finished=False)

    def sync(self, extends: bool = False) -> None:
        """``checkpoint``, and waits until every finished step is in the store."""
        if extends:
            self.services.flush()
            self.close_dropped()
        self.checkpoint(extends)
        if self._writer is not None:
            try:
                self._writer.flush()
            except StoreError:
                self._release()  # to be taken again, should this be tried again
                raise

    def await_writer(self) -> None:
        """Waits until the steps that were handed over are in the store."""
        if self._writer is not None:
            self._writer.flush()

    def _hand_over(
        self,
        kept: bool = False,
        resumable: bool = False,
        finished: bool = True,
        extends: bool = False,
        wait: bool = False,
    ) -> None:
        changes, step = self.taken(), self.step or 0
        changes.rows.agents = self._new_agents(changes.opened)
        changes.rows.prompt_files = self._prompt_files.rows(self, step)
        state = self._snapshot(step) if resumable else None
        assert self._writer is not None
        try:
            batch = partial(batch_of, changes, step, state, kept, finished, extends)
            self._writer.put(batch)
            if wait:
                self._writer.flush()
        except StoreError as error:
            self._detach()
            self._writer = None
            self._release()
            if self._recording.on_failure == "raise":
                raise
            logger.warning("%s The run continues unrecorded.", error)

    def close_dropped(self) -> None:
        """Closes the records and memories that users have removed by hand."""
        model = self._model()
        if model is None:
            return
        held = memories(model)
        for memory in held.values():
            memory.close_dropped()
        self._presence.compare(model, held, clock(model))

    def _release(self) -> None:
        """Gives the lease of the run back, so that another process may write it."""
        try:
            self.store.release(self.run)
        except StoreError as error:  # the lease ends with this process
            logger.debug("the lease of a run could not be given back: %s", error)

    def _snapshot(self, step: float) -> dict[str, Any]:
        warn_of_beside(self._model(), self._beside)
        state = snapshot(self._model())
        self._resumable = step
        self._checkpoint_at = time.monotonic() + CHECKPOINT_INTERVAL_S
        return state

    def _new_agents(self, opened: Iterable[MemoryRecord]) -> list[dict]:
        """Rows of the agents with their first record."""
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
        if self in self.bus.observers:
            self.bus.observers.remove(self)
        self._observer.detach()
        _running.discard(self)


_running: set[Recorder] = set()


def _abandon(recorder: "weakref.ref[Recorder]") -> None:
    """Closes the recording of a model that is gone."""
    left = recorder()
    if left is None:
        return
    # Garbage may be collected in the thread that would have to be waited for.
    if left.writes_here or in_transaction():
        threading.Thread(target=_stop, args=(left,), name="mesa-memory-stop").start()
    else:
        _stop(left)


def _stop(recorder: Recorder) -> None:
    try:
        recorder.close("stopped")
    except StoreError:  # no caller is left to catch it
        logger.exception("the record of a run could not be finished")


def _close_all() -> None:
    for recorder in list(_running):
        try:
            recorder.close()
        except Exception:  # no caller is left; the other recordings are finished, too
            logger.exception("the record of a run could not be finished at exit")


at_exit(_close_all)
