"""The feed of a running model; a page begins the record of a model without one."""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, cast

from mesa_memory.hosts.mesa import clock
from mesa_memory.runs import open_run
from mesa_memory.runs.recording.config import Recording
from mesa_memory.runs.recording.recorder import Recorder
from mesa_memory.runs.recording.restored import start
from mesa_memory.runtime.services import Services
from mesa_memory.viz.live.step_lock import locks, take_turns
from mesa_memory.viz.serving.live_run import (
    LOOK_INTERVAL_S,
    SHARE_BESIDE,
    CpuBudget,
    LiveRun,
    RunState,
)

#: seconds between two questions to the recorder
TICK_S = 0.03
#: seconds without a step after which a simulation is paused
PAUSE_S = 0.1
NOT_RECORDED = (
    "This model is not recorded: no agent of it has a memory that can be shown. Once "
    "some have one, reload the page."
)
BEGUN_LATE = (
    "The record begins with step {step}, with the memories as they were at its end: the "
    "steps before were made before this page knew the model. For all steps, call "
    "configure(model, record=True) before the agents are made."
)


class ModelRun(LiveRun):
    """The recorded part of a model's run; a step is there as soon as it is finished."""

    def __init__(self, recorder: Recorder, label: str, notes: Iterable[str]) -> None:
        self._recorder = recorder
        self._step = recorder.step  # the last known one
        self._since = time.monotonic()
        run = open_run(recorder.store, recorder.run)
        super().__init__(run, label, [*notes], CpuBudget(SHARE_BESIDE))

    @property
    def model(self) -> Any:
        """See ``LiveRun``."""
        return self._recorder.model if self._recorder.active else None

    @property
    def nap(self) -> float:
        """See ``LiveRun``; to ask the recorder costs next to nothing."""
        return TICK_S if self._recorder.active else LOOK_INTERVAL_S

    def due(self, shown: RunState) -> bool:
        """See ``LiveRun``: there is a newer step, and the simulation will not notice."""
        step, now = self._recorder.step, time.monotonic()
        if step != self._step:
            self._since, self._step = now, step
        if shown is not self.source or not self._recorder.active:
            return True  # another window has looked, or the run is over
        if step is None or (shown.steps and shown.steps[-1] == step):
            return False
        paused = self._recorder.stands and now - self._since > PAUSE_S
        return paused or not self.pace.left

    def look(self) -> RunState:
        """See ``LiveRun``; between two steps it waits, and so finds out if a store fails.

        Raises:
            StoreError: if the store fails, or cannot be read.
        """
        return self.refresh() if self._recorder.stands else super().refresh()

    def refresh(self) -> RunState:
        """Waits until the finished steps are written, then reads them."""
        if self._recorder.active:
            self._recorder.sync()
        return super().refresh()


def live_feed(model: Any) -> LiveRun:
    """The feed of a model; an unrecorded one is recorded in memory from now on."""
    label, notes = type(model).__name__, strangers(model)
    record(model)
    recorder = Services.of(model).recorder
    if recorder is None:
        return LiveRun(None, label, [NOT_RECORDED, *notes])
    if (begun := locks(model)[-1].begun) is not None:
        notes.insert(0, BEGUN_LATE.format(step=f"{begun:g}"))
    return ModelRun(cast(Recorder, recorder), label, notes)


def record(model: Any) -> None:
    """Begins a record in memory of a model that has memories and no record.

    The record of a model that was stepped before begins with its memories as they are.
    """
    services = Services.of(model)
    take_turns(model)
    turn = locks(model)[-1]
    if services.recorder is not None or turn.over:
        return
    with turn.lock:  # not in the middle of a step
        memories = (getattr(agent, "memory", None) for agent in model.agents)
        if services.recorder is not None or not any(map(_ours, memories)):
            return
        recorder = start(model, services, Recording(True))
        services.recorder = recorder
        if clock(model):
            turn.begun = clock(model)
            recorder.finish_step()


def strangers(model: Any) -> list[str]:
    """A sentence about agents whose memories cannot be shown, if there are any."""
    kinds = Counter(
        "no memory"
        if memory is None
        else f"{type(memory).__module__.partition('.')[0]}'s {type(memory).__name__}"
        for memory in (getattr(agent, "memory", None) for agent in model.agents)
        if not _ours(memory)
    )
    if not kinds:
        return []
    count, total = sum(kinds.values()), len(model.agents)
    have = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    return [
        (
            f"{count} of {total} agents cannot be shown; they have: {have}. Memories "
            "of mesa_memory have the same names: from mesa_memory import STLTMemory."
        )
    ]


def _ours(memory: Any) -> bool:
    # The same test as the recorder's: a memory need not be a subclass of ours.
    return hasattr(memory, "layer") and hasattr(memory, "current_records")
