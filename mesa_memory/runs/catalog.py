"""What a store says about a run, apart from what happened in it."""

from typing import Any

from mesa_memory.core.arguments import readable
from mesa_memory.runs.reader import Reader
from mesa_memory.runs.recorded import Recorded
from mesa_memory.runs.stored import run_row


class About:
    """A run's name, model, seed, state and steps.

    Attributes:
        id: the run's number in its store.
    """

    def __init__(self, reader: Reader, number: int) -> None:
        self.id = number
        self._reader = reader
        self._run = Recorded(reader, number)

    @property
    def location(self) -> str:
        """Path or address of the store, without password."""
        return self._reader.location

    @property
    def name(self) -> str | None:
        """The run's name, if it was given one."""
        return self._told("name")

    @property
    def model(self) -> str:
        """The class of the model."""
        return self._told("model")

    @property
    def parameters(self) -> dict[str, Any]:
        """What the model was made with; a word in brackets stands for what is not here.

        Secrets and objects are not recorded.
        """
        return readable(self._told("parameters") or {})

    @property
    def seed(self) -> str | None:
        """The seed of the model's random numbers."""
        return self._told("seed")

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what the run was made with."""
        return self._told("versions") or {}

    @property
    def status(self) -> str:
        """``"running"``, ``"finished"``, ``"stopped"`` or ``"failed"``."""
        return self._told("state")

    @property
    def parent(self) -> int | None:
        """The run that this one was forked from."""
        return self._told("parent")

    @property
    def parent_step(self) -> float | None:
        """The step after which it was forked."""
        return self._told("parent_step")

    @property
    def steps(self) -> list[float]:
        """The finished steps, in order."""
        return self._run.steps()

    def _told(self, name: str) -> Any:
        return run_row(self._reader, self.id)[name]
