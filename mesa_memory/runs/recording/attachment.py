"""The start of a recording, and a model attached to a run that exists."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.arguments import full_name
from mesa_memory.hosts.mesa import arguments as mesa_arguments
from mesa_memory.runs.recording import parameters
from mesa_memory.runs.recording.checkpoints import memories
from mesa_memory.runs.recording.config import Recording, versions
from mesa_memory.runs.recording.recorder import Recorder
from mesa_memory.runtime.services import Services
from mesa_memory.stores.base import RunInfo
from mesa_memory.stores.open import open_store


def start(model: Any, services: Services, recording: Recording) -> Recorder:
    """Begins a run in the store and attaches a recorder to the model.

    Memories that exist already belong to the run's first step.

    Raises:
        LLMError, MemoryStalled: of a memory whose work failed; no run is begun.
        StoreError: if the store cannot be used.
    """
    given = parameters.of_model(model, recording.location, recording.parameters)
    going_on = _expected.get()
    if going_on is not None:
        return going_on.attach(model, services, recording)
    services.flush()
    place = ":memory:" if recording.location is True else recording.location
    store = open_store(place)
    run = store.begin(
        RunInfo(
            model=full_name(type(model)),
            parameters=given,
            seed=str(mesa_arguments.seed(model)),
            versions=versions(),
            name=recording.name,
        )
    )
    attachment = Attachment(store, run)
    recorder = attachment.attach(model, services, recording)
    recorder.begin_late(memories(model).values())
    recorder.begin()
    return recorder


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
        of, flush = services.bus, services.flush
        recorder = Recorder(model, of, self.store, self.run, flush, recording)
        recorder.muted = True
        if self.answers is not None:
            flush()
            recorder.begin_late(memories(model).values())
            recorder.begin(self.answers)
        self.recorder = recorder
        return recorder

    @contextmanager
    def expected(self) -> Iterator[None]:
        """Within the block, a model that asks to be recorded is recorded in this run."""
        token = _expected.set(self)
        try:
            yield
        finally:
            _expected.reset(token)


_expected: ContextVar[Attachment | None] = ContextVar("attachment", default=None)
