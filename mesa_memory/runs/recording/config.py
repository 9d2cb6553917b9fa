"""How a run is recorded, and the start of its recording."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any

from mesa_memory.core.arguments import full_name
from mesa_memory.core.validate import whole
from mesa_memory.hosts.mesa import arguments as mesa_arguments
from mesa_memory.runs.recording import parameters
from mesa_memory.runs.recording.checkpoints import memories

if TYPE_CHECKING:
    from mesa_memory.runs.recording.recorder import Recorder
    from mesa_memory.runtime.services import Services

#: packages on which a result depends
PACKAGES = ("mesa-memory", "mesa", "mesa-llm", "litellm", "numpy", "model2vec")
ON_FAILURE = ("stop", "continue")


@dataclass(frozen=True)
class Recording:
    """How a run is recorded.

    Attributes:
        location: path of a SQLite file, ``"postgresql+psycopg://…"``, or True to keep
            it in memory.
        name: the user's own name for the run.
        parameters: what the model was made with, for ``resume``; by default the
            arguments of its constructor, as they were given. Secrets and objects are
            not recorded, and asked for by ``resume``.
        checkpoint_every: 10 keeps the checkpoint of each tenth step, besides the
            newest two, to resume or fork from; at least 1, None keeps no others.
        on_failure: ``"stop"`` raises at the end of the step in which the store fails;
            ``"continue"`` warns once and goes on unrecorded.
        each_step: called with the model at the end of each step, when all memories have
            done their work; what it reads is not recorded. It may add rows to the step
            with ``Services.of(model).recorder.measured(rows)``.

    Raises:
        ValueError: for another ``on_failure`` or a wrong ``checkpoint_every``.
        TypeError: for another kind of location.
    """

    location: Any
    name: str | None = None
    parameters: Mapping[str, Any] | None = None
    checkpoint_every: int | None = None
    on_failure: str = "stop"
    each_step: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.location is not True and not isinstance(self.location, str | Path):
            raise TypeError(
                "location must be a path, an address or True, got "
                f"{self.location!r}: configure(model, record='run.sqlite')"
            )
        if self.on_failure not in ON_FAILURE:
            raise ValueError(
                f"on_failure must be one of {ON_FAILURE}, got {self.on_failure!r}"
            )
        if self.checkpoint_every is not None:
            whole("checkpoint_every", self.checkpoint_every)


def start(model: Any, services: "Services", recording: Recording) -> "Recorder":
    """Begins a run in the store and attaches a recorder to the model.

    What agents remember already belongs to the run's first step.

    Raises:
        LLMError, MemoryStalled: of a memory whose work failed; no run is begun.
        StoreError: if the store cannot be used.
    """
    from mesa_memory.stores.base import RunInfo, open_store

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
    """A run that is there already, for a model that is to be recorded in it.

    Attributes:
        answers: if the run has no finished step, those it was given nevertheless; the
            recorder begins at once then.
        recorder: of the model, once there is one.
    """

    store: Any
    run: int
    answers: Any = None
    recorder: "Recorder | None" = None

    def attach(
        self, model: Any, services: "Services", recording: Recording
    ) -> "Recorder":
        """A recorder, muted until it is told where the run begins."""
        from mesa_memory.runs.recording.recorder import Recorder

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
        """Meanwhile a model that asks to be recorded is recorded in this run."""
        token = _expected.set(self)
        try:
            yield
        finally:
            _expected.reset(token)


_expected: ContextVar[Attachment | None] = ContextVar("attachment", default=None)


def versions() -> dict[str, str]:
    """The versions of what a result depends on, by package."""
    found = {"python": python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a folder, not installed
            found[package] = "unknown"
    return found
