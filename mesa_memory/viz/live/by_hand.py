"""Questions to agents of a running model, and forks of its run, from a page.

The model waits meanwhile, as it does between two steps.
"""

import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mesa_memory.hosts.mesa import clock
from mesa_memory.memories.host.interventions import implant, probe
from mesa_memory.runs.recording.recorder import Recorder
from mesa_memory.runs.recording.resume import fork
from mesa_memory.runtime.services import Services
from mesa_memory.viz.live.step_lock import take_turns
from mesa_memory.viz.run_names import COPY


@dataclass(frozen=True)
class Change:
    """An event that one agent of a fork remembers, although it never happened.

    Attributes:
        agent: unique id.
        text: its words.
        event: kind of the event, such as ``"message"``.
    """

    agent: Any
    text: str
    event: str = "observation"

    def apply(self, model: Any) -> None:
        """Implants the event in a model."""
        name = "message" if self.event == "message" else "text"
        implant(agent_of(model, self.agent), self.event, {name: self.text})


def ask(model: Any, agent: Any, question: str) -> str:
    """The answer of an agent from its memory, which is not changed.

    Args:
        agent: its unique id.

    Raises:
        LLMError: if the model does not answer.
        ValueError: if the question is empty, or for an unknown agent.
        TypeError: if the agent's memory is of another package.
    """
    with waiting(model):
        return probe(agent_of(model, agent), question)


def forked(
    model: Any,
    change: Change | None = None,
    step: float | None = None,
    name: str | None = None,
) -> Any:
    """A model that goes on from the end of a step of another one, as a run of its own.

    A run in a file is forked there. Of a run in memory, a copy in a temporary file is
    forked; the file is deleted with the new run.

    Args:
        model: it is recorded.
        change: made in the new model before its first step.
        step: a finished one; None is the last.
        name: of the new run.

    Raises:
        ValueError: if the model is not recorded, or has not finished a step; or if the
            change cannot be made.
        ParameterError, ReplayMismatch, StoreError: see ``resume``.
    """
    recorder = cast(Recorder | None, Services.of(model).recorder)
    if recorder is None or not recorder.active or recorder.step is None:
        raise ValueError(
            "only a recorded model that has finished a step can be forked: make a step, "
            "or call configure(model, record=True) before its first one"
        )
    with waiting(model):
        if change is not None:
            agent_of(model, change.agent)
        recorder.sync(extends=True)
        place, folder = _place(recorder)
    made = fork(
        type(model),
        place,
        recorder.step if step is None else step,
        change.apply if change else None,
        run=recorder.run,
        name=name,
    )
    if folder is not None:
        # Readers and writers of the run hold its store.
        store = cast(Recorder, Services.of(made).recorder).store
        weakref.finalize(store, folder.cleanup)
    return made


def agent_of(model: Any, unique_id: Any) -> Any:
    """The agent with this id.

    Raises:
        ValueError: for an unknown agent.
    """
    found = next((a for a in model.agents if a.unique_id == unique_id), None)
    if found is None:
        raise ValueError(
            f"agent {unique_id} is not in the model any more, at step {clock(model):g}; "
            "choose another one"
        )
    return found


@contextmanager
def waiting(model: Any) -> Iterator[None]:
    """Meanwhile the model makes no step."""
    take_turns(model)
    with model.step.lock:
        yield


def _place(recorder: Recorder) -> tuple[str, "tempfile.TemporaryDirectory | None"]:
    """The place of a fork: the store of the run, or a copy of a store in memory."""
    if recorder.store.location != ":memory:":
        return recorder.store.location, None
    folder = tempfile.TemporaryDirectory(
        prefix="mesa-memory-", ignore_cleanup_errors=True
    )
    path = str(Path(folder.name) / COPY)
    engine = cast(Any, recorder.store).engine
    with closing(engine.raw_connection()) as held, closing(sqlite3.connect(path)) as to:
        held.driver_connection.backup(to)
    return path, folder
