"""Arms of an experiment that are the same up to a step: what they share is run once.

An intervention in step 20 leaves the first 20 steps of all arms alike. They are run and
paid for once, as a recorded run (the trunk), from which each arm is forked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

from mesa_memory.core.validate import whole
from mesa_memory.errors import StoreUnavailable
from mesa_memory.experiments.changes import From, give_memory
from mesa_memory.hosts.mesa import clock
from mesa_memory.runs import open_run
from mesa_memory.runs.recording.config import Recording
from mesa_memory.runs.recording.configure import configure
from mesa_memory.runs.recording.resume import checkpoint, fork, resume
from mesa_memory.runtime.services import Services


@dataclass(frozen=True)
class ArmRun:
    """What became of an arm.

    Attributes:
        label: of its change; of the arm without one it is ``"unchanged"``.
        change: None for the arm without one.
        run: number of its recorded run in the store.
        result: what ``measure`` said at its end.
    """

    label: str
    change: From | None
    run: int
    result: Any


def run_arms(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any] | None,
    arms: Sequence[From | None],
    *,
    steps: int,
    store: Any,
    name: str = "arms",
    measure: Callable[[Any], Any] = lambda model: None,
    prepare: Callable[[Any], Any] = lambda model: None,
) -> list[ArmRun]:
    """Runs arms that share their beginning, which is run once.

    Called again, it goes on: what is in the store is not run again, and a run that was
    killed goes on where it ended.

    Args:
        model_class: makes the model.
        parameters: of the model, its seed included; the same for all arms.
        arms: their changes; None is the arm without one. Steps may differ.
        steps: of each arm, all together.
        store: path of a SQLite file, or address of a database.
        name: of this experiment: its runs are called ``"name: label"``.
        measure: called with the model at the end of an arm.
        prepare: called with each new model, such as
            ``lambda model: configure(model, llm=…)``; not needed if the model does that
            itself.

    Returns:
        The arms in their order.

    Raises:
        ValueError: for no arm, two with one label, or a step that is not before the end.
        StoreError: if the store cannot be used.
    """
    given = dict(parameters or {})
    labels = _labels(arms, whole("steps", steps))
    trunk = _Trunk(model_class, given, store, name, prepare)
    changes = [arm for arm in arms if arm is not None]
    last = steps if None in arms else max(arm.step for arm in changes)
    found = {}
    with trunk.grown(last) as (model, number):
        if None in arms:
            found["unchanged"] = ArmRun("unchanged", None, number, measure(model))
    for arm in changes:
        with trunk.arm(number, arm, steps) as (model, run):
            found[arm.label] = ArmRun(arm.label, arm, run, measure(model))
    return [found[label] for label in labels]


@dataclass(frozen=True)
class _Trunk:
    """The run from which arms are forked, and where it is."""

    model_class: Callable[..., Any]
    parameters: dict[str, Any]
    store: Any
    name: str
    prepare: Callable[[Any], Any]

    @contextmanager
    def grown(self, last: int) -> Iterator[tuple[Any, int]]:
        """The trunk's model after its last step; a later arm may begin at any step."""
        with _recorded(self._begun()) as (model, run):
            if clock(model):
                checkpoint(model)
            while clock(model) < last:
                model.step()
                checkpoint(model)
            yield model, run

    @contextmanager
    def arm(self, trunk: int, arm: From, steps: int) -> Iterator[tuple[Any, int]]:
        """An arm's model after its last step, and its run."""
        with _recorded(self._forked(trunk, arm)) as (model, run):
            while clock(model) < steps:
                model.step()
            yield model, run

    def _forked(self, trunk: int, arm: From) -> Any:
        run, at = _last(self.store, f"{self.name}: {arm.label}")
        if not run:
            return fork(
                self._make(), self.store, arm.step, arm.apply,
                run=trunk, name=f"{self.name}: {arm.label}", **self.parameters,
            )  # fmt: skip
        if at > arm.step:
            made = self._make(arm.memory)
            return resume(made, self.store, run=run, **self.parameters)
        # it ended before its first own step
        model = resume(self._make(), self.store, run=run, **self.parameters)
        arm.apply(model)
        return model

    def _begun(self) -> Any:
        run, _ = _last(self.store, f"{self.name}: trunk")
        if run:
            return resume(self._make(), self.store, run=run, **self.parameters)
        model = self._make()(**self.parameters)
        configure(model, record=Recording(self.store, name=f"{self.name}: trunk"))
        return model

    def _make(self, memory: str | None = None) -> Callable[..., Any]:
        """Makes the model, for a run in which everyone has another memory by now."""
        return _made_so(self.model_class, self.prepare, memory)


def _made_so(
    model_class: Callable[..., Any],
    prepare: Callable[[Any], Any],
    memory: str | None,
) -> Callable[..., Any]:
    @wraps(model_class, updated=())
    def made(*args: Any, **given: Any) -> Any:
        model = model_class(*args, **given)
        prepare(model)
        if memory is not None:
            give_memory(model, memory)
        return model

    return partial(made)


def _labels(arms: Sequence[From | None], steps: int) -> list[str]:
    """The names of the arms, once they are known to be right."""
    if not arms:
        raise ValueError("there must be at least one arm: From(step, change) or None")
    labels = ["unchanged" if arm is None else arm.label for arm in arms]
    for label in labels:
        if labels.count(label) > 1 or (label == "trunk"):
            raise ValueError(
                f"each arm needs a label of its own, and {label!r} is taken: "
                "From(step, change, label=…)"
            )
    for arm in arms:
        if arm is not None and arm.step >= steps:
            raise ValueError(
                f"{arm.label!r} begins after step {arm.step}, but a run has only "
                f"{steps} steps: a change must come before the last one"
            )
    return labels


def _last(location: Any, name: str) -> tuple[int, float]:
    """The newest run of a name and its last finished step; zeros if there is none."""
    try:
        run = open_run(location, name)
    except (ValueError, StoreUnavailable):  # no such run, or no store yet
        return 0, 0.0
    with run:
        return run.id, max(run.steps, default=0.0)


@contextmanager
def _recorded(model: Any) -> Iterator[tuple[Any, int]]:
    """A model and its run, which has ended afterwards, whatever happened."""
    recorder: Any = Services.of(model).recorder
    try:
        yield model, recorder.run
    finally:
        recorder.close()
