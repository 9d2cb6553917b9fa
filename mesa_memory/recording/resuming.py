"""Goes on with a recorded run, or starts a new one from the middle of it.

Memories, clock and random generators come from the run's checkpoint. What else a model
holds it tells and takes up itself, in ``get_state()`` and ``set_state(state)``.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from mesa_memory.recording import checkpoints
from mesa_memory.recording.attaching import Attachment, Recording
from mesa_memory.recording.shelves import StoreShelf
from mesa_memory.recording.vectors import RecordedVectors
from mesa_memory.services import Services
from mesa_memory.sharing import CAPACITY
from mesa_memory.stores.base import open_store
from mesa_memory.stores.copying import copy_run
from mesa_memory.stores.schema import answers, runs


def checkpoint(model: Any) -> tuple[int, float]:
    """Makes sure that the run can always be resumed from its last finished step.

    Its checkpoint stays when there are newer ones.

    Returns:
        The run's id, and that step.

    Raises:
        ValueError: if the model is not recorded, or has not finished a step.
        StoreError: if the store fails.
    """
    recorder = Services.of(model).recorder
    if recorder is None or not recorder.active or recorder.step is None:
        raise ValueError(
            "a checkpoint needs a recorded run with a finished step: call "
            "configure(model, record='run.sqlite') before its first step"
        )
    recorder.sync()
    recorder.store.keep(recorder.run, recorder.step)
    return recorder.run, recorder.step


def resume(
    model_class: Callable[..., Any],
    location: Any,
    step: float | None = None,
    *,
    run: int | None = None,
    **parameters: Any,
) -> Any:
    """A model that goes on where a recorded run ended; it is recorded in the same run.

    Args:
        model_class: makes the model. Its agents must get the same memories as before.
        location: the store, see ``configure(record=)``.
        step: after which finished step; later ones are removed from the run. None is
            the last; for others see ``checkpoint`` and ``Recording.checkpoint_every``.
        run: id of the run; None is the newest.
        **parameters: of the model, in place of those recorded.

    Raises:
        StoreError: if the run has no such checkpoint, or the store fails.
        ValueError: if the model does not fit the run.
    """
    begun, at, states, recorded = _checkpoint_of(location, run, step)
    begun.store.truncate(begun.run, at)
    return _restored(model_class, begun, at, states, recorded | parameters)


def fork(
    model_class: Callable[..., Any],
    location: Any,
    step: float | None = None,
    edit: Callable[[Any], Any] | None = None,
    *,
    run: int | None = None,
    name: str | None = None,
    **parameters: Any,
) -> Any:
    """A model that starts a new run from the middle of a recorded one.

    The new run has its own copy of all that was recorded until then; nothing written in
    one ever appears in the other.

    Args:
        model_class, location, step, run, parameters: see ``resume``.
        edit: called with the new model before its first step, to change something.
        name: of the new run.

    Raises:
        StoreError, ValueError: see ``resume``.
    """
    begun, at, states, recorded = _checkpoint_of(location, run, step)
    copy = replace(begun, run=copy_run(begun.store, begun.run, at, name))
    model = _restored(model_class, copy, at, states, recorded | parameters)
    if edit is not None:
        edit(model)
    return model


def _checkpoint_of(
    location: Any, run: int | None, step: float | None
) -> tuple[Attachment, float, dict[str, Any], dict[str, Any]]:
    """A run, the step to go on from, its states there, and the model's parameters."""
    store = open_store(location)
    found, recorded = _run(store, run)
    at, states = store.checkpoint(found, step)
    return Attachment(store, found), at, states, recorded


def _restored(
    model_class: Callable[..., Any],
    attachment: Attachment,
    step: float,
    states: dict[str, Any],
    parameters: dict[str, Any],
) -> Any:
    """A new model, put where the checkpoint was taken, and recorded from there."""
    with attachment.expected():
        model = model_class(**parameters)
    services = Services.of(model)
    if services.recorder is None:  # its constructor does not ask to be recorded
        recording = Recording(attachment.store.location)
        services.recorder = attachment.attach(model, services, recording)
    recorder = services.recorder
    ids = {str(agent.unique_id): agent.unique_id for agent in model.agents}

    def shelf(agent: str, layer: str) -> StoreShelf:
        unique_id = ids.get(agent, agent)
        return StoreShelf(attachment.store, attachment.run, unique_id, layer)

    known = RecordedVectors(attachment.store, attachment.run)
    services.vectors.known = services.vectors.known or known
    checkpoints.restore(model, states, shelf)
    services.shared.publish(_answers(attachment))
    recorder.begin_at(step)
    return model


def _answers(attachment: Attachment) -> dict[str, Any]:
    """What was found once for many agents, the newest last."""
    query = sa.select(answers.c.key, answers.c.value).filter_by(run=attachment.run)
    query = query.order_by(answers.c.seq.desc()).limit(CAPACITY)
    with attachment.store.reading() as on:
        return dict(reversed(on.execute(query).tuples().all()))


def _run(store: Any, run: int | None) -> tuple[int, dict[str, Any]]:
    """A run's id and the parameters its model was made with."""
    query = sa.select(runs.c.id, runs.c.parameters).order_by(runs.c.id.desc())
    with store.reading() as on:
        found = {key: parameters or {} for key, parameters in on.execute(query)}
    chosen = next(iter(found), None) if run is None else run
    if chosen is None or chosen not in found:
        raise ValueError(f"{store.location} has the runs {sorted(found)}, not {run!r}")
    return chosen, found[chosen]
