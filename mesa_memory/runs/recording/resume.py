"""Goes on with a recorded run, or starts a new one from the middle of it.

Memories, clock and random generators come from the run's checkpoint. A model gives its
other state in ``get_state()`` and restores it in ``set_state(state)``.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import RunInUse, StoreCorrupt
from mesa_memory.runs.recording import checkpoints
from mesa_memory.runs.recording.attachment import Attachment
from mesa_memory.runs.recording.config import Recording
from mesa_memory.runs.recording.paid_answers import PaidAnswers
from mesa_memory.runs.recording.parameters import made_with, merged
from mesa_memory.runs.recording.stored_records import StoredRecords, last_number
from mesa_memory.runs.recording.vectors import RecordedVectors
from mesa_memory.runtime.services import Services
from mesa_memory.runtime.single_flight import CAPACITY
from mesa_memory.stores.columns import wrong
from mesa_memory.stores.copying import copy_run
from mesa_memory.stores.open import no_run, open_store, other_run
from mesa_memory.stores.schema import answers, runs, steps

logger = logger_of(__name__)


def checkpoint(model: Any) -> tuple[int, float]:
    """Makes sure that the run can always be resumed from its last finished step.

    Its checkpoint stays when there are newer ones. It holds the model as it is now:
    changes since the step, such as a message, become part of its end.

    Returns:
        The run's id, and that step.

    Raises:
        ValueError: if the model is not recorded, or has not finished a step; or within
            a step, if the last one has no checkpoint.
        LLMError, MemoryStalled: of a memory whose work failed.
        StoreError: if the store fails.
    """
    recorder: Any = Services.of(model).recorder
    if recorder is None or not recorder.active or recorder.step is None:
        raise ValueError(
            "a checkpoint needs a recorded run with a finished step: call "
            "configure(model, record='run.sqlite') before its first step"
        )
    recorder.sync(extends=True)
    newest = recorder.store.newest_checkpoint(recorder.run)
    if newest != recorder.step and not recorder.stands:
        raise ValueError(
            f"step {recorder.step:g} has no checkpoint, and none can be made within "
            "the next step: call checkpoint(model) between two steps, or record with "
            "Recording(file, checkpoint_every=10)"
        )
    recorder.store.keep(recorder.run, recorder.step)
    return recorder.run, recorder.step


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
            the last, or the beginning if none was finished; for others see
            ``checkpoint`` and ``Recording.checkpoint_every``.
        run: id of the run; None is the newest.
        trust: whether the file may name addresses, paths and models. Without it, only
            numbers and plain words are taken from the file; a file of somebody else
            cannot say where your keys are sent. A ``trust`` that your model takes is
            given by a function: ``resume(lambda: Town(trust=0.7), file)``.
        **parameters: of the model, in place of those recorded; from now on they are
            the run's.

    Raises:
        ParameterError: if an argument is not in the file (an object, a secret), or
            needs ``trust``. Give it as one of ``parameters``.
        RunInUse: if another process or model writes the run; says which, since when.
        StoreError: if the run does not have the checkpoint, or the store fails.
        ValueError: if the model does not fit the run.
    """
    with _opened(location, run) as (store, chosen, recorded):
        with_ = _made_with(model_class, store, recorded, parameters, trust)
        new = merged(recorded, parameters) if parameters else None
        return _resumed(model_class, store, chosen, step, with_, parameters, new)


def begin_in(make: Callable[[], Any], store: Any, run: int) -> Any:
    """A new model, recorded from its beginning in a run that has just been begun.

    Args:
        store: open; it has the run's lease.

    Raises:
        StoreError: if the store fails.
    """
    return _begun(make, Attachment(store, run, PaidAnswers()), {})


def resume_in(model_class: Callable[..., Any], store: Any, run: int) -> Any:
    """``resume`` in a store that is open, which stays open also after a failure.

    Raises:
        ParameterError, RunInUse, StoreError, ValueError: see ``resume``.
    """
    chosen, recorded = _run(store, run)
    with_ = made_with(model_class, recorded, {}, store.location)
    return _resumed(model_class, store, chosen, None, with_, {}, None)


def _resumed(
    model_class: Callable[..., Any],
    store: Any,
    run: int,
    step: float | None,
    with_: dict[str, Any],
    parameters: dict[str, Any],
    new: dict[str, Any] | None,
) -> Any:
    _hold(store, run)
    begun = Attachment(store, run)
    if step is None and not _has_finished_step(store, run):
        return _begun_anew(model_class, begun, with_, new)
    at, states = store.checkpoint(run, step)
    with _restored(model_class, begun, at, states, with_, parameters) as model:
        removed = store.truncate(run, at, new)
        _go_on(begun, run, at)
    if removed:
        gone = f"steps {removed[0]:g} to {removed[-1]:g} of run {run} are"
        if len(removed) == 1:
            gone = f"step {removed[0]:g} of run {run} is"
        where = store.location
        logger.warning("%s: %s removed; it goes on after step %g", where, gone, at)
    return model


def fork(
    model_class: Callable[..., Any],
    location: Any,
    step: float | None = None,
    edit: Callable[[Any], Any] | None = None,
    *,
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
        name: of the new run.

    Raises:
        ParameterError, StoreError, ValueError: see ``resume``.
    """
    with _opened(location, run) as (store, chosen, recorded):
        at, states = store.checkpoint(chosen, step)
        begun = Attachment(store, chosen)
        with_ = _made_with(model_class, store, recorded, parameters, trust)
        with _restored(model_class, begun, at, states, with_, parameters) as model:
            new = merged(recorded, parameters)
            copy = copy_run(store, chosen, at, name, new)
            _go_on(begun, copy, at)
    if edit is not None:
        edit(model)
    return model


@contextmanager
def _opened(
    location: Any, run: int | None
) -> Iterator[tuple[Any, int, dict[str, Any]]]:
    """A store, a run in it and its model's parameters; closed again after a failure."""
    store = open_store(location)
    try:
        yield (store, *_run(store, run))
    except BaseException:
        store.close()
        raise


def _made_with(
    model_class: Callable[..., Any],
    store: Any,
    recorded: dict[str, Any],
    given: dict[str, Any],
    trust: bool,
) -> dict[str, Any]:
    """The arguments to make the model with; raises before anything is changed."""
    if not isinstance(trust, bool):
        name = getattr(model_class, "__name__", "Model")
        raise TypeError(
            f"trust must be True or False, got {trust!r:.60}. If {name} takes an "
            f"argument trust, give it by a function: resume(lambda: {name}(trust=…), "
            "file)"
        )
    return made_with(model_class, recorded, given, store.location, trust)


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


def _has_finished_step(store: Any, run: int) -> bool:
    query = sa.select(steps.c.step).filter_by(run=run).limit(1)
    with store.reading() as on:
        return on.execute(query).first() is not None


def _begun_anew(
    model_class: Callable[..., Any],
    begun: Attachment,
    with_: dict[str, Any],
    new: dict[str, Any] | None,
) -> Any:
    """A new model for a run that ended within its first step; its answers are kept."""
    before = -1.0
    begun.store.truncate(begun.run, before, new)
    begun.answers = PaidAnswers.of(begun.store, begun.run, before)
    return _begun(model_class, begun, with_)


def _begun(
    model_class: Callable[..., Any],
    begun: Attachment,
    with_: dict[str, Any],
) -> Any:
    """A new model of a run without steps; after a failure the run has no writer."""
    try:
        return _made(model_class, begun, with_)
    except BaseException:
        if begun.recorder is not None:
            begun.recorder.abandon()
        raise


@contextmanager
def _restored(
    model_class: Callable[..., Any],
    attachment: Attachment,
    step: float,
    states: dict[str, Any],
    with_: dict[str, Any],
    given: dict[str, Any],
) -> Iterator[Any]:
    """A new model, put where the checkpoint was taken; nothing of it is written yet.

    If it cannot be made, or the block fails, the run stays as it is.
    """
    try:
        model = _made(model_class, attachment, with_)
        services = Services.of(model)
        ids = {str(agent.unique_id): agent.unique_id for agent in model.agents}

        def shelf(agent: str, layer: str) -> StoredRecords:
            unique_id = ids.get(agent, agent)
            return StoredRecords(
                attachment.store, attachment.run, unique_id, layer, step
            )

        known = RecordedVectors(attachment.store, attachment.run)
        services.vectors.known = services.vectors.known or known
        with _taking_up(model_class, attachment, step):
            checkpoints.restore(model, states, shelf, given)
        services.shared.publish(_answers(attachment, step))
        yield model
    except BaseException:
        if attachment.recorder is not None:
            attachment.recorder.abandon()
        raise


@contextmanager
def _taking_up(
    model_class: Callable[..., Any], attachment: Attachment, step: float
) -> Iterator[None]:
    """Names the checkpoint that does not fit the model, and says what to do."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        name = getattr(model_class, "__name__", str(model_class))
        raise StoreCorrupt(
            f"the checkpoint of step {step:g} of run {attachment.run} does not fit "
            f"{name} ({type(error).__name__}: {error!s:.80}). If the model and its "
            "set_state() are those of the run, the file was changed or damaged: use a "
            "copy of it.",
            location=attachment.store.location,
        ) from error


def _go_on(begun: Attachment, run: int, step: float) -> None:
    """Starts the recording in a run that ends with ``step``."""
    assert begun.recorder is not None
    begun.recorder.begin_at(run, step, PaidAnswers.of(begun.store, run, step))


def _made(
    model_class: Callable[..., Any],
    attachment: Attachment,
    with_: dict[str, Any],
) -> Any:
    """A new model, to be recorded in an existing run."""
    with attachment.expected():
        model = model_class(**with_)
    services = Services.of(model)
    if services.recorder is None:  # its constructor does not ask to be recorded
        recording = Recording(attachment.store.location)
        services.recorder = attachment.attach(model, services, recording)
    return model


def _answers(attachment: Attachment, step: float) -> dict[str, Any]:
    """Answers shared by many agents at the end of a step, the newest last."""
    query = sa.select(answers.c.key, answers.c.value).filter_by(run=attachment.run)
    query = query.where(answers.c.seq <= last_number(attachment.run, step))
    query = query.order_by(answers.c.seq.desc()).limit(CAPACITY)
    with attachment.store.reading() as on:
        found = dict(reversed(on.execute(query).tuples().all()))
    for value in found.values():
        if not isinstance(value, int | float):
            raise wrong("answers.value", "a grade", value)
    return found


def _run(store: Any, run: int | None) -> tuple[int, dict[str, Any]]:
    """A run's id and the parameters its model was made with."""
    query = sa.select(runs.c.id, runs.c.parameters).order_by(runs.c.id.desc())
    with store.reading() as on:
        found = {key: parameters or {} for key, parameters in on.execute(query)}
    if not found:
        raise no_run(store.location)
    chosen = next(iter(found), None) if run is None else run
    if chosen is None or chosen not in found:
        raise other_run(store.location, found, run)
    return chosen, found[chosen]
