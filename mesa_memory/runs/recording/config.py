"""Settings of a recording, and the versions that it names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any

from mesa_memory.core.validate import checked_int, one_of
from mesa_memory.stores.base import AUTO, JOURNALS

#: packages on which a result depends
PACKAGES = ("mesa-memory", "mesa", "mesa-llm", "litellm", "numpy", "model2vec")
#: after a failure of a memory's model, or of the store
ON_FAILURE = ("raise", "continue")


@dataclass(frozen=True)
class Recording:
    """Settings of a run's recording.

    Attributes:
        location: path of a SQLite file, ``"postgresql+psycopg://…"``, or True to keep
            it in memory.
        name: the user's own name for the run.
        parameters: arguments of the model for ``resume``; by default those of its
            constructor. Secrets and objects are not recorded; ``resume`` asks for them.
        checkpoint_every: 10 keeps the checkpoint of each tenth step, besides the
            newest two, to resume or fork from; at least 1. None keeps the newest two.
        on_failure: ``"raise"`` raises at the end of the step in which the store fails;
            ``"continue"`` warns once and goes on unrecorded.
        each_step: called with the model at the end of each step, when all memories have
            done their work; its reads are not recorded. It may add rows to the step
            with ``Services.of(model).recorder.measured(rows)``.
        journal: ``"rollback"`` writes a new file without shared memory, for network file
            systems; readers then wait while a step is written. ``"auto"`` does so where
            SQLite has no shared memory.

    Raises:
        ValueError: for another ``on_failure`` or ``journal``, or a wrong
            ``checkpoint_every``.
        TypeError: for another kind of location.
    """

    location: Any
    name: str | None = None
    parameters: Mapping[str, Any] | None = None
    checkpoint_every: int | None = None
    on_failure: str = "raise"
    each_step: Callable[[Any], Any] | None = None
    journal: str = AUTO

    def __post_init__(self) -> None:
        if self.location is not True and not isinstance(self.location, str | Path):
            raise TypeError(
                "location must be a path, an address or True, got "
                f"{self.location!r}: configure(model, record='run.sqlite')"
            )
        one_of("on_failure", ON_FAILURE, self.on_failure)
        one_of("journal", JOURNALS, self.journal)
        if self.checkpoint_every is not None:
            checked_int("checkpoint_every", self.checkpoint_every)


def versions() -> dict[str, str]:
    """The versions of the packages on which a result depends."""
    found = {"python": python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a folder, not installed
            found[package] = "unknown"
    return found
