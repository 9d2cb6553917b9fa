"""Goes on with a recorded run, or starts a new one from the middle of it.

Memories, clock and random generators come from the run's checkpoint. A model gives its
other state in ``get_state()`` and restores it in ``set_state(state)``.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.text.redaction import hide
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import ParameterError, RunInUse
from mesa_memory.memories.replacement import replace_memory, replacements
from mesa_memory.runs.recording.configure import equip
from mesa_memory.runs.recording.parameters import (
    all_taken,
    demand,
    finder,
    made_with,
    merged,
)
from mesa_memory.runs.recording.replay import PaidAnswers
from mesa_memory.runs.recording.restored import Attachment, PastRun
from mesa_memory.runtime.services import Services
from mesa_memory.stores.copying import copy_run
from mesa_memory.stores.open import open_store
from mesa_memory.stores.schema import runs, storable

logger = logger_of(__name__)

#: before the first step of any run
BEFORE_STEPS = -1.0
NO_MEMORIES = (
    "no agent of this run had a memory of mesa_memory, so the file lacks memories: write "
    "agent.memory = STLTMemory(agent), or another class"
)


def checkpoint(model: Any) -> tuple[int, float]:
    """Makes sure that the run can always be resumed from its last finished step.

    Its checkpoint stays when there are newer ones. It holds the model as it is now:
    changes since the step, such as a message, become part of its end.

    Returns:
        The run's id, and that step.

    Raises:
        ValueError: if the model is not recorded, or has not finished a step; or within
            a step, if the last one lacks a checkpoint.
        LLMError, MemoryStalled: of a memory whose work failed.
        StoreError: if the store fails.
    """
    recorder: Any = Services.of(model).recorder
    between = recorder is not None and recorder.active and recorder.step is not None
    if between:
        recorder.sync(extends=True)
        newest = recorder.store.newest_checkpoint(recorder.run)
        between = newest == recorder.step or recorder.stands
    if not between:
        raise ValueError(
            "a checkpoint needs a recorded run that stands between two steps: call "
            "configure(model, record='run.sqlite') before the first step and "
            "checkpoint(model) after a finished step, or record with "
            "Recording(file, checkpoint_every=10)"
        )
    recorder.store.keep(recorder.run, recorder.step)
    return recorder.run, recorder.step


def close(model: Any) -> None:
    """Writes the rest of a model's run and ends it; does nothing if it is not recorded.

    A run that is not closed ends as ``"stopped"`` when the model is freed or the
    program ends.

    Raises:
        LLMError, MemoryStalled: of a memory whose work failed.
        StoreError: if the store fails.
    """
    recorder: Any = Services.of(model).recorder
    if recorder is not None:
        recorder.close()
        if not recorder.has_memories:
            logger.warning(NO_MEMORIES)


def resume(
    model_class: Callable[..., Any],
    location: Any,
    step: float | None = None,
    *,
    run: int | None = None,
    trust: bool = False,
    **parameters: Any,
) -> Any:
    """A model that goes on where a recorded run ended; it is recorded in the same run.

    The run stays as it is until the model is made; steps after ``step`` are removed
    then, and a warning in the log says which. A run has one writer: while another
    process or model writes it, it is not gone on with.

    Args:
        model_class: makes the model. Its agents must get the same memories as before.
        location: the store, see ``configure(record=)``.
        step: after which finished step; later ones are removed from the run. None is
            the last, or the beginning if none was finished. The way to a step without
            a checkpoint is repeated from an earlier one, or from the beginning, with
            the run's own answers; no model is asked.
        run: id of the run; None is the newest.
        trust: whether the file may name addresses, paths and models. Without it, only
            numbers and plain words are taken from the file; a file of someone else
            cannot say where your keys are sent. A ``trust`` that your model takes is
            given by a function: ``resume(lambda: Town(trust=0.7), file)``.
        **parameters: of the model, in place of those recorded; from now on they are
            the run's.

    Raises:
        ParameterError: if an argument is not in the file (an object, a secret), or
            needs ``trust``: give it as one of ``parameters``.
        RunInUse: if another process or model writes the run; says which, since when.
        ReplayMismatch: if the way to the step cannot be repeated: an answer was not
            recorded, such as that of an agent with ``configure(model, agents=False)``,
            or something was changed between two steps and is not in the record.
        StoreError: if the run does not have the step, or the store fails.
        ValueError: if the model does not fit the run.
    """
    with _opened(model_class, location, run, parameters, trust) as past:
        return _resumed(past, step)


def begin_in(make: Callable[[], Any], store: Any, run: int) -> Any:
    """A new model, recorded from its beginning in a run that has just been begun.

    Args:
        store: open; it has the run's lease.

    Raises:
        StoreError: if the store fails.
    """
    with Attachment(store, run, PaidAnswers()).made(make) as model:
        return model


def resume_in(model_class: Callable[..., Any], store: Any, run: int) -> Any:
    """``resume`` in a store that is open, which stays open also after a failure.

    Raises:
        ParameterError, RunInUse, StoreError, ValueError: see ``resume``.
    """
    return _resumed(_Past(model_class, store, run, {}, trust=False, whole=True), None)


def keep_recipe(store: Any, run: int, recipe: Mapping[str, Any]) -> None:
    """Writes what the model of a study's run was made with.

    Args:
        recipe: ``arguments`` of the model; memory and settings ``beside`` them, see
            ``configure.equip``; the ``seed`` of cached answers; ``changes``: the steps
            after which the study changes the model, by label.

    Raises:
        StoreError: if the store fails.
    """
    with store.writing() as on:
        own = sa.update(runs).filter_by(id=run)
        on.execute(own.values(recipe=storable(hide(dict(recipe)))))


def _resumed(past: "_Past", step: float | None) -> Any:
    store, run = past.store, past.run
    new = past.changed if past.given else None
    _hold(store, run)
    if step is None and not store.steps(run):
        store.truncate(run, BEFORE_STEPS, new)
        paid = PaidAnswers.of(store, run, BEFORE_STEPS)
        with Attachment(store, run, paid).made(past.make) as model:
            return model
    with past.model_at(step) as (at, model):
        removed = store.truncate(run, at, new)
        _go_on(model, run, at)
    if new is not None or store.newest_checkpoint(run) != at:
        checkpoint(model)
    if removed:
        gone = f"steps {removed[0]:g} to {removed[-1]:g} of run {run} are"
        if len(removed) == 1:
            gone = f"step {removed[0]:g} of run {run} is"
        where = store.location
        logger.warning(
            "%s: %s removed; the run continues after step %g", where, gone, at
        )
    return model


def fork(
    model_class: Callable[..., Any],
    location: Any,
    step: float | None = None,
    edit: Callable[[Any], Any] | None = None,
    *,
    memory: Any = None,
    run: int | None = None,
    name: str | None = None,
    trust: bool = False,
    **parameters: Any,
) -> Any:
    """A model that starts a new run from the middle of a recorded one.

    The new run has its own copy of all that was recorded until then; nothing written in
    one ever appears in the other.

    Args:
        model_class, location, step, run, trust, parameters: see ``resume``.
        edit: called with the new model before its first step, to change something.
        memory: the agents' memory from then on, see ``interventions.replace_memory``: a
            name or a class for all who have one, or a mapping of unique ids to these.
            An argument ``memory`` of your model is given by a function:
            ``fork(partial(Town, memory="fact"), file)``.
        name: of the new run.

    Raises:
        ParameterError, ReplayMismatch, StoreError, ValueError: see ``resume``.
        UnknownMemory: for a wrong ``memory``; no run is begun.
    """
    with (
        _opened(model_class, location, run, parameters, trust) as past,
        past.model_at(step) as (at, model),
    ):
        given = [] if memory is None else replacements(model, memory)
        _go_on(model, copy_run(past.store, past.run, at, name, past.changed), at)
    for agent, kind in given:
        replace_memory(agent, kind)
    if edit is not None:
        edit(model)
    checkpoint(model)
    return model


def copy_at(
    model_class: Callable[..., Any],
    location: Any,
    step: float | None = None,
    *,
    run: int | None = None,
    trust: bool = False,
    **parameters: Any,
) -> Any:
    """A model at the end of a recorded step that is not recorded; the run stays as it is.

    Args:
        model_class, location, step, run, trust, parameters: see ``resume``.

    Raises:
        ParameterError, ReplayMismatch, StoreError, ValueError: see ``resume``.
    """
    read = _opened(model_class, location, run, parameters, trust, read_only=True)
    with read as past:
        with past.model_at(step) as (_, model):
            twin = deepcopy(model)
            Services.of(model).recorder.abandon()
        past.store.close()
    return twin


@contextmanager
def _opened(
    model_class: Callable[..., Any],
    location: Any,
    run: int | None,
    given: dict[str, Any],
    trust: bool,
    *,
    read_only: bool = False,
) -> Iterator["_Past"]:
    """A recorded run; its store is closed again after a failure."""
    if not callable(model_class) or callable(location):
        raise TypeError(
            "the model's class comes first and then the file, as in resume(Town, "
            f"'run.sqlite'), got {model_class!r:.60} and {location!r:.60}"
        )
    if not read_only:  # so that a misspelt path does not become a new file
        open_store(location, read_only=True).close()
    store = open_store(location, read_only=read_only)
    name = made_by = getattr(model_class, "__name__", "")
    try:
        past = _Past(model_class, store, run, given, trust)
        made_by = past.made_by
        yield past
    except BaseException as error:
        store.close()
        if isinstance(model_class, type) and made_by.rpartition(".")[2] != name:
            error.add_note(
                f"The run was made by {made_by!r:.80}, and {name} was given."
            )
        raise


class _Past(PastRun):
    """A recorded run, and what makes its model; raises before anything is changed.

    Attributes:
        made_by: name of the class of the model, as recorded.
        parameters: of the model, as recorded.
        given: by the caller, in place of those.
        make: makes the model with its arguments.

    Args:
        whole: whether ``model_class`` also gives the model what a study has for it.
    """

    def __init__(
        self,
        model_class: Callable[..., Any],
        store: Any,
        run: int | None,
        given: dict[str, Any],
        trust: bool,
        whole: bool = False,
    ) -> None:
        super().__init__(store, store.run_id(run), finder(model_class, trust))
        self.given = given
        columns = runs.c.parameters, runs.c.recipe, runs.c.model
        with store.reading() as on:
            told, recipe, made_by = on.execute(
                sa.select(*columns).filter_by(id=self.run)
            ).one()
        self._told: dict[str, Any] = told or {}
        self._recipe: dict[str, Any] = recipe or {"arguments": self._told}
        self.parameters: dict[str, Any] = self._recipe["arguments"]
        self._beside = {} if whole else self._recipe.get("beside", {})
        self.made_by = str(made_by)
        if not isinstance(trust, bool):
            name = getattr(model_class, "__name__", "Model")
            raise TypeError(
                f"trust must be True or False, got {trust!r:.60}. If {name} takes an "
                f"argument trust, give it by a function: resume(lambda: {name}(trust=…), "
                "file)"
            )
        self._class, self._trust = model_class, trust
        self.make = self._maker(given)

    @property
    def changed(self) -> dict[str, Any]:
        """The columns of a run that goes on with what the caller gave."""
        found: dict[str, Any] = {"parameters": merged(self._told, self.given)}
        if self._recipe.keys() != {"arguments"}:
            own = {n: v for n, v in self.given.items() if n not in self._beside}
            beside = {n: v for n, v in self.given.items() if n in self._beside}
            found["recipe"] = self._recipe | {
                "arguments": merged(self.parameters, own),
                "beside": merged(self._recipe["beside"], beside),
            }
        return found

    @contextmanager
    def model_at(self, step: float | None) -> Iterator[tuple[float, Any]]:
        """A finished step, and a new model at its end; see ``restored``."""
        at, states = self.states_at(self._as_recorded, step)
        for label, after in self._recipe.get("changes", {}).items():
            if after >= at and self._beside:
                logger.warning(
                    "the study changes run %s after step %g (%s); a model that goes on "
                    "after step %g is not changed: change it yourself",
                    self.run, after, label, at,
                )  # fmt: skip
        with self.restored(self.make, at, states, self.given) as model:
            yield at, model

    def _maker(self, given: dict[str, Any]) -> Callable[[], Any]:
        """Makes the model, and gives it what the study had for it."""
        where, trust = self.store.location, self._trust
        outer = {n: v for n, v in given.items() if n in self._beside}
        own = {n: v for n, v in given.items() if n not in outer}
        make = partial(
            self._class, **made_with(self._class, self.parameters, own, where, trust)
        )
        if not self._beside:
            return make
        wanted = {n: v for n, v in self._beside.items() if n not in outer}
        kept, refused = all_taken(wanted, where, self.find, trust)
        if refused and isinstance(self._class, type):  # a function gives its own
            raise demand(self._class, refused)
        chosen, seed = outer | kept, self._recipe.get("seed")
        memory = chosen.pop("memory", None)

        def whole() -> Any:
            model = make()
            equip(model, memory, chosen, seed)
            return model

        return whole

    def _as_recorded(self) -> Any:
        """The model as it was recorded; ``given`` has what the file cannot give."""
        recorded = self.parameters.keys() | self._beside.keys()
        needed = self.given.keys() - recorded
        while True:  # first the arguments are asked for, and then what stands beside
            chosen = {name: self.given[name] for name in needed & self.given.keys()}
            try:
                return self._maker(chosen)()
            except ParameterError as error:
                if not set(error.names) - needed:
                    raise
                needed |= set(error.names)


def _hold(store: Any, run: int) -> None:
    """Takes the lease of a run, so that no other process goes on with it."""
    try:
        store.hold(run)
    except RunInUse as error:
        if not error.here:
            raise
        # A model without references may not have been freed yet.
        gc.collect()
        store.hold(run)


def _go_on(model: Any, run: int, step: float) -> None:
    """Starts the recording in a run that ends with ``step``."""
    recorder: Any = Services.of(model).recorder
    recorder.begin_at(run, step, PaidAnswers.of(recorder.store, run, step))
