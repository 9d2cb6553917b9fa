"""How a run is recorded, and the start of its recording."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any

from mesa_memory.checks import whole
from mesa_memory.content import plain

if TYPE_CHECKING:
    from mesa_memory.recording.recorder import Recorder
    from mesa_memory.services import Services

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
        parameters: what the model was made with, for ``resume``; by default those
            arguments of its class that are also its attributes.
        checkpoint_every: keep the checkpoints of each so-many-th step, besides the
            newest two, to resume or fork from; at least 1, None keeps no others.
        on_failure: ``"stop"`` raises at the end of the step in which the store fails;
            ``"continue"`` warns once and goes on unrecorded.

    Raises:
        ValueError: for another ``on_failure`` or a wrong ``checkpoint_every``.
        TypeError: for another kind of location.
    """

    location: Any
    name: str | None = None
    parameters: Mapping[str, Any] | None = None
    checkpoint_every: int | None = None
    on_failure: str = "stop"

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

    Raises:
        StoreError: if the store cannot be used.
    """
    from mesa_memory.stores.base import RunInfo, open_store

    going_on = _expected.get()
    if going_on is not None:
        return going_on.attach(model, services, recording)
    place = ":memory:" if recording.location is True else recording.location
    store = open_store(place)
    run = store.begin(
        RunInfo(
            model=f"{type(model).__module__}.{type(model).__qualname__}",
            parameters=plain(_parameters(model, recording)),
            seed=str(getattr(model, "_seed", None)),
            versions=_versions(),
            name=recording.name,
        )
    )
    attachment = Attachment(store, run)
    recorder = attachment.attach(model, services, recording)
    recorder.muted = False
    return recorder


@dataclass(frozen=True)
class Attachment:
    """A run that is there already, for a model that is to be recorded in it."""

    store: Any
    run: int

    def attach(
        self, model: Any, services: "Services", recording: Recording
    ) -> "Recorder":
        """A recorder, muted until it is told where the run begins."""
        from mesa_memory.recording.recorder import Recorder

        of, flush = services.chronicle, services.flush
        recorder = Recorder(model, of, self.store, self.run, flush, recording)
        recorder.muted = True
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


def _parameters(model: Any, recording: Recording) -> Mapping[str, Any]:
    """As given, else the arguments of the model's class that are its attributes."""
    if recording.parameters is not None:
        return recording.parameters
    names = list(inspect.signature(type(model).__init__).parameters)[1:]
    return {name: vars(model)[name] for name in names if name in vars(model)}


def _versions() -> dict[str, str]:
    found = {"python": python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a folder, not installed
            found[package] = "unknown"
    return found
