"""The start of a recording, and a model attached to a run that exists."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.codec import full_name
from mesa_memory.hosts import mesa
from mesa_memory.runs.recording import parameters
from mesa_memory.runs.recording.checkpoints import memories
from mesa_memory.runs.recording.config import Recording, versions
from mesa_memory.runs.recording.recorder import Recorder
from mesa_memory.runs.recording.replay import PaidAnswers
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
