"""The facts that distinguish runs: a key for the address, and a name for people."""

import hashlib
from pathlib import PurePath
from typing import Any

from mesa_memory.runs import Run

#: hexadecimal digits that distinguish runs of stores with the same file name
KEY_DIGITS = 6
#: name of the file with the copy of a run that was in memory only
COPY = "mesa-memory-copy.sqlite"
#: parameters of the recording, which do not change the run itself
RECORDING_PARAMETERS = ("record", "replay", "execution")


class RunFacts:
    """The facts that distinguish a run from others; they stay while it goes on.

    Attributes:
        number: in its store.
        store: name of the file or database; empty for one in memory.
        name: the user's own, if there is one.
        model: class of the model, without its module.
        parameters: of the model.
        seed: of the model's random numbers.
        started: ISO time.
        forked: the run and step of its store that it was forked from; empty without one.
    """

    def __init__(self, run: Run) -> None:
        store = PurePath(run.location).name
        self.number: int = run.id
        self.store = "" if store in (":memory:", COPY) else store
        self.name: str | None = run.name
        self.model: str = run.model.rpartition(".")[2]
        self.parameters: dict[str, Any] = {
            name: value
            for name, value in run.parameters.items()
            if name not in RECORDING_PARAMETERS
        }
        self.seed: str | None = run.seed
        self.started: str = run.started
        self.forked = f"fork of run {run.parent}" * (run.parent is not None)
        if run.parent_step is not None:
            self.forked += f" after step {run.parent_step:g}"

    @property
    def key(self) -> str:
        """Stands for the run in addresses, on every page.

        Such as ``town-3-5f02ab``: name of the store, number, and a digest of the run's
        start and parameters. It stays the same when the store is moved to another folder.
        """
        told = (self.model, self.seed, self.started, sorted(self.parameters.items()))
        digest = hashlib.blake2b(repr(told).encode()).hexdigest()[:KEY_DIGITS]
        stem = "".join(c for c in PurePath(self.store).stem if c.isalnum() or c in "_.")
        return f"{stem or 'run'}-{self.number}-{digest}"

    @property
    def place(self) -> str:
        """The store and the number in it, as commands take them."""
        return f"{self.store}#{self.number}" if self.store else ""
