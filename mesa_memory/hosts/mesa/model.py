"""Mesa: a model's clock, and its step."""

import math
import sys
import weakref
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from mesa_memory.hosts import CallableWrapper, changed

#: undocumented attributes of a model that this package uses
NEEDED_ATTRIBUTES = (
    "_user_step", "_default_schedule", "_event_list", "_event_generators",
    "_advance_time",
)  # fmt: skip


# -- the clock -------------------------------------------------------------------------


def clock(model: Any) -> float:
    """The model's steps, or its time where they do not move: in a discrete event simulator."""
    steps = getattr(model, "steps", 0)
    if type(steps) is int and steps:
        return steps
    now = (getattr(model, "time", 0) if steps == 0 else steps) or 0
    if not isinstance(now, Real) or not math.isfinite(now):
        return 0
    return int(now) if isinstance(now, Integral) else float(now)


def clock_state(model: Any) -> dict[str, Any]:
    """Steps, time and number of agents made, for a checkpoint."""
    return {"steps": model.steps, "time": model.time, "agents": model.agent_id_counter}


def set_clock(model: Any, state: Mapping[str, Any]) -> None:
    """Puts the clock where ``clock_state`` found it."""
    model.agent_id_counter = state["agents"]
    _set_time(model, state)


def _set_time(model: Any, state: Mapping[str, Any]) -> None:
    model.time, model.steps = state["time"], state["steps"]


def advance(model: Any, state: Mapping[str, Any]) -> None:
    """Moves the clock and the schedules of a new model to a state of the clock.

    Neither the user's step nor any event is called.
    """
    check_model(model)
    own_step = model._user_step
    # Events planned in the constructor were planned in the recorded run, too.
    generators = [
        g for g in model._event_generators if g is not model._default_schedule
    ]
    functions = {g: g.function for g in generators}
    put_step(model, _nothing)
    for generator in generators:
        generator.function = weakref.ref(_nothing)
    try:
        _drop_events(model, state["time"], generators)
        if state["time"] > model.time:
            model._advance_time(state["time"])
    finally:
        put_step(model, own_step)
        for generator, function in functions.items():
            generator.function = function
    _set_time(model, state)


def _drop_events(model: Any, until: float, generators: list[Any]) -> None:
    """Removes the single events that are over by then."""
    events, kept = model._event_list, []
    recurring = {g._current_event for g in [*generators, model._default_schedule]}
    while not events.is_empty():
        event = events.pop_event()
        if event.time > until or event in recurring:
            kept.append(event)
    for event in kept:
        events.add_event(event)


def _nothing() -> None:
    """An empty step."""


# -- the user's step -------------------------------------------------------------------


class StepGuard(CallableWrapper):
    """A model's own step; when it has failed, the model can take the next one.

    Mesa plans a step only once the one before has ended well: after an error,
    ``model.step()`` moves the clock and does nothing else from then on.

    Args:
        inner: the model's own step.
        model: is held weakly.
        failed: called after an error.
    """

    def __init__(
        self, inner: Callable[[], Any], model: Any, failed: Callable[[], None]
    ) -> None:
        super().__init__(inner)
        self._model, self._failed = weakref.ref(model), failed

    def __call__(self) -> None:
        """One step."""
        try:
            self.inner()
        except BaseException:  # Ctrl-C, too: in a notebook, the model stays
            _plan_next(self._model())
            self._failed()
            raise


def guard(model: Any, failed: Callable[[], None]) -> None:
    """Lets a model go on after a step that has failed; again changes nothing.

    Args:
        failed: called after each such step.

    Raises:
        HostChanged: if this Mesa lacks such a step.
    """
    own = getattr(model, "__dict__", {})
    if "_user_step" not in own and "running" in own and _is_model(model):
        check_model(model)
    step = own.get("_user_step")
    if step is not None and not isinstance(step, StepGuard):
        put_step(model, StepGuard(step, model, failed))


def put_step(model: Any, step: Callable[[], Any]) -> None:
    """Has the model's schedule call this in the place of the user's step."""
    model._user_step = step


def _plan_next(model: Any) -> None:
    schedule = getattr(model, "_default_schedule", None)
    if schedule is not None and schedule.is_active:
        schedule.pause()  # what is planned already shall not come twice
        schedule.resume()


# -- what is gone ----------------------------------------------------------------------


def _is_model(model: Any) -> bool:
    mesa = sys.modules.get("mesa")
    return mesa is not None and isinstance(model, mesa.Model)


def check_model(model: Any) -> None:
    """Raises HostChanged if a model lacks a name that is used here."""
    gone = [name for name in NEEDED_ATTRIBUTES if not hasattr(model, name)]
    if gone:
        what = f"a model of it lacks {' and '.join(gone)}"
        advice = "Use a supported version: pip install 'mesa>=3.5.1,<4'."
        raise changed("mesa", what, advice)
