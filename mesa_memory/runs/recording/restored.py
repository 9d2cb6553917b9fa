"""A new model at the end of a recorded step, and a model attached to a run that exists.

A step without a checkpoint is reached by repeating the steps since an earlier one, or
since the beginning: the run's own answers are given again, and nothing is written.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.codec import encode_snapshot, full_name
from mesa_memory.core.requests import REASONING, LLMRequest, Reply
from mesa_memory.core.text.redaction import hide
from mesa_memory.errors import ReplayMismatch, StoreCorrupt, StoreError
from mesa_memory.hosts import mesa
from mesa_memory.hosts.mesa import clock
from mesa_memory.llm.doubles.replay import ReplayLLM, override_client
from mesa_memory.llm.ledger import Budget
from mesa_memory.memories.host.layer_names import memories
from mesa_memory.runs.recording import parameters
from mesa_memory.runs.recording.checkpoints import States, restore, snapshot
from mesa_memory.runs.recording.config import Recording, versions
from mesa_memory.runs.recording.parameters import Find
from mesa_memory.runs.recording.recorder import Recorder
from mesa_memory.runs.recording.replay import PaidAnswers, recorded_answers
from mesa_memory.runs.recording.stored import (
    RecordedVectors,
    StoredRecords,
    last_number,
)
from mesa_memory.runtime.flows import MAX_SHARED_ANSWERS
from mesa_memory.runtime.services import Services
from mesa_memory.stores.base import RunInfo
from mesa_memory.stores.open import open_store
from mesa_memory.stores.schema import answers, json_text, storable, wrong


def start(model: Any, services: Services, recording: Recording) -> Recorder:
    """Begins a run in the store and attaches a recorder to the model.

    Memories that exist already belong to the run's first step.

    Raises:
        LLMError, MemoryStalled: of a memory whose work failed; no run is begun.
        StoreError: if the store cannot be used.
    """
    given = parameters.of_model(model, recording.location, recording.parameters)
    parameters.warn_of_lost(type(model).__name__, given)
    going_on = _expected.get()
    if going_on is not None:
        return going_on.attach(model, services, recording)
    services.flush()
    place = ":memory:" if recording.location is True else recording.location
    store = open_store(place, journal=recording.journal)
    run = store.begin(
        RunInfo(
            model=full_name(type(model)),
            parameters=given,
            seed=str(mesa.seed(model)),
            versions=versions(),
            name=recording.name,
        )
    )
    return Attachment(store, run, PaidAnswers()).attach(model, services, recording)


@dataclass
class Attachment:
    """An existing run in which a model is going to be recorded.

    Attributes:
        answers: paid answers of a run without a finished step; the recorder begins at
            once then.
        recorder: of the model; None until it is made.
    """

    store: Any
    run: int
    answers: Any = None
    recorder: Recorder | None = None

    def attach(self, model: Any, services: Services, recording: Recording) -> Recorder:
        """A recorder, muted until ``Recorder.begin`` or ``begin_at``."""
        recorder = Recorder(model, services, self.store, self.run, recording)
        recorder.muted = True
        if self.answers is not None:
            services.flush()
            recorder.begin_late(memories(model).values())
            recorder.begin(self.answers)
        self.recorder = recorder
        return recorder

    @contextmanager
    def made(self, make: Callable[[], Any]) -> Iterator[Any]:
        """A new model, recorded in this run.

        If it cannot be made, or the block fails, the run stays as it
        is, without a writer.
        """
        try:
            token = _expected.set(self)
            try:
                model = make()
            finally:
                _expected.reset(token)
            services = Services.of(model)
            if services.recorder is None:  # its constructor does not ask to be recorded
                recording = Recording(self.store.location)
                services.recorder = self.attach(model, services, recording)
            yield model
        except BaseException:
            if self.recorder is not None:
                self.recorder.abandon()
            raise


#: the run in which a model that is being made is recorded
_expected: ContextVar[Attachment | None] = ContextVar("attachment", default=None)


#: makes a model
type Make = Callable[[], Any]


class PastRun:
    """A recorded run, whose model is made again at the end of a step.

    Args:
        store, run: where it is.
        find: gives the classes and functions that the states name.
    """

    def __init__(self, store: Any, run: int, find: Find) -> None:
        self.store, self.run, self.find = store, run, find

    @contextmanager
    def restored(
        self, make: Make, step: float, states: States, given: Mapping[str, Any]
    ) -> Iterator[Any]:
        """A new model at the end of a step; nothing of it is written yet.

        If it cannot be made, or the block fails, the run stays as it is.

        Args:
            states: at the end of the step, encoded.
            given: the arguments that the caller chose for the model.
        """
        with Attachment(self.store, self.run).made(make) as model:
            services = Services.of(model)

            def shelf(agent: Any, layer: str) -> StoredRecords:
                return StoredRecords(self.store, self.run, agent, layer, step)

            if services.vectors.known is None:
                services.vectors.known = RecordedVectors(self.store, self.run)
            try:
                restore(model, states, shelf, given, self.find)
            except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
                raise StoreCorrupt(
                    f"the checkpoint of step {step:g} of run {self.run} does not fit the "
                    f"model ({type(error).__name__}: {error!s:.80}). If the model and its "
                    "set_state() are those of the run, the file was changed or damaged: "
                    "use a copy of it.",
                    location=self.store.location,
                ) from error
            services.shared.publish(self._answers(step))
            yield model

    def states_at(self, make: Make, step: float | None) -> tuple[float, States]:
        """A finished step, and the states at its end, encoded.

        Args:
            make: makes the model as it was recorded.
            step: None means the newest checkpoint.

        Raises:
            ReplayMismatch: if the run cannot be repeated up to the step; says why.
            StoreError: if the run lacks the step, or the store fails.
        """
        store, run = self.store, self.run
        before = store.newest_checkpoint(run, math.inf if step is None else step)
        if step is None or before == step:
            return store.checkpoint(run, step)
        if step not in (finished := store.steps(run)):
            there = f"{finished[0]:g} to {finished[-1]:g}" if finished else "none"
            raise StoreError(
                f"run {run} lacks a finished step {step:g}; its steps are {there}",
                location=store.location,
            )
        try:
            return step, self._repeated(make, before, step)
        except ReplayMismatch as error:
            since = "from its beginning" if before is None else f"after step {before:g}"
            decided = error.purpose == REASONING
            alone = " Decisions are not recorded with configure(model, agents=False)."
            raise ReplayMismatch(
                f"step {step:g} of run {run} lacks a checkpoint, and the run cannot be "
                f"repeated {since}: {error}{alone * decided} Choose a step with a "
                "checkpoint, or record with Recording(file, checkpoint_every=1)."
            ) from error

    def _repeated(self, make: Make, before: float | None, step: float) -> States:
        """The states at the end of a step, made from those of an earlier one."""
        client = _Answers(recorded_answers(self.store, self.run, paid=True))
        if before is None:
            begun = Attachment(self.store, self.run).made(make)
        else:
            _, states = self.store.checkpoint(self.run, before)
            begun = self.restored(make, before, states, {})
        with override_client(client), begun as model:
            services = Services.of(model)
            recorder: Any = services.recorder
            services.replay, services.agents = client, True
            services.ledger.budget = Budget()
            known = RecordedVectors(self.store, self.run, complete=True)
            services.vectors.known = known
            try:
                recorder.follow()
                while clock(model) < step and client.fault is None:
                    model.run_for(min(1, step - clock(model)))
            except Exception:
                if client.fault is None:
                    raise
            finally:
                recorder.abandon()
            if client.fault is not None:
                raise client.fault
            self._check(model, step)
            return json.loads(json_text(encode_snapshot(snapshot(model))))

    def _check(self, model: Any, step: float) -> None:
        """Raises if the agents do not remember what the run says.

        Raises:
            ReplayMismatch: names an agent, and a record that differs.
        """
        for memory in memories(model).values():
            agent, layer = memory.agent.unique_id, memory.layer
            there = StoredRecords(self.store, self.run, agent, layer, step).current()
            then = {record.id: record.content for record in there}
            now = {r.id: storable(hide(r.content)) for r in memory.current_records()}
            different = [key for key in then | now if then.get(key) != now.get(key)]
            if different:
                raise ReplayMismatch(
                    f"at its end agent {agent} does not remember the same, such as "
                    f"{different[0]}. Was the model, or a memory, changed between two "
                    "steps, or does it use a clock or chance of its own?"
                )

    def _answers(self, step: float) -> dict[str, Any]:
        """Answers shared by many agents at the end of a step, the newest last."""
        query = sa.select(answers.c.key, answers.c.value).filter_by(run=self.run)
        query = query.where(answers.c.seq <= last_number(self.run, step))
        query = query.order_by(answers.c.seq.desc()).limit(MAX_SHARED_ANSWERS)
        with self.store.reading() as on:
            found = dict(reversed(on.execute(query).all()))
        for value in found.values():
            if not isinstance(value, int | float):
                raise wrong("answers.value", "a grade", value)
        return found


class _Answers:
    """The answers of a run; keeps the first fault, since a model may catch it."""

    instant = True

    def __init__(self, recorded: ReplayLLM) -> None:
        self._recorded = recorded
        self.fault: ReplayMismatch | None = None

    def complete(self, request: LLMRequest) -> Reply:
        """The recorded answer."""
        try:
            return self._recorded.complete(request)
        except ReplayMismatch as error:
            self.fault = self.fault or error
            raise

    def price(self, model: str | None) -> None:
        """Unknown: an answer costs what its record says."""
