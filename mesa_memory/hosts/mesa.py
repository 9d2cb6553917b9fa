"""Mesa: a model's clock, its step, its seed and arguments, and its collected data."""

import inspect
import math
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any

import mesa
import numpy as np

from mesa_memory.core.codec import OBJECT, by_name, encode, generator, lost
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
    for each in generators:
        each.function = weakref.ref(_nothing)
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


# -- the seed --------------------------------------------------------------------------


def seed(model: Any) -> Any:
    """The seed of a model's random generators; None for a model without one."""
    return getattr(model, "_seed", None)


#: where a resumed model has the state with which its run began
_FIRST_STATE = "_mesa_memory_first_state"


def first_state(model: Any) -> Any:
    """The state of the model's generator before anything was drawn; None if unknown.

    Of a resumed model it is that of its run, also if the model was made without a seed.
    """
    if _FIRST_STATE in getattr(model, "__dict__", {}):
        return model.__dict__[_FIRST_STATE]
    return getattr(model, "_rng", None)


def begin_with(model: Any, state: Any) -> None:
    """Sets the ``first_state`` of a resumed model."""
    model.__dict__[_FIRST_STATE] = state


def rng_argument(model: Any) -> Any:
    """The argument ``rng`` with which Mesa makes a model's generators again."""
    number, state = seed(model), first_state(model)
    return number if state is None or _makes(number, state) else generator(state)


def _makes(number: Any, state: Any) -> bool:
    if not isinstance(number, int | np.integer) or number < 0:
        return False
    return np.random.default_rng(number).bit_generator.state == state


# -- scenarios -------------------------------------------------------------------------


def scenario_class() -> Any:
    """Mesa's class of a model's parameters."""
    from mesa.experimental.scenarios import Scenario

    return Scenario


def seeded_scenario(scenario: Any, rng: Any) -> Any:
    """The same scenario, with its number, but for another seed."""
    values = vars(scenario) | {"rng": rng, "_scenario_id": scenario._scenario_id}
    return type(scenario)(**values)


# -- arguments -------------------------------------------------------------------------

#: where a model has the arguments it was made with
_ARGUMENTS = "_mesa_memory_arguments"
#: in place of an argument that cannot be given by name
_POSITIONAL = {OBJECT: "positional argument"}


def _note_arguments() -> None:
    """From now on each model keeps the arguments it is made with, encoded.

    A class seldom keeps all of them as attributes, and a hook for the arguments of a
    subclass is missing in Mesa, so this extends the ``__new__`` of ``mesa.Model``. No
    other constructor of another package is changed.
    """

    def make(kind: type, /, *args: Any, **given: Any) -> Any:
        own = super(mesa.Model, kind).__new__
        model = own(kind) if own is object.__new__ else own(kind, *args, **given)
        model.__dict__[_ARGUMENTS] = _by_name(kind, args, given)
        return model

    # ``inspect.signature(mesa.Model)`` is that of its constructor, as before.
    vars(make)["__signature__"] = inspect.signature(mesa.Model.__init__)
    mesa.Model.__new__ = make  # type: ignore[method-assign]


def noted(model: Any) -> dict[str, Any] | None:
    """The encoded arguments of a model by name, with the defaults of its class.

    None for a model that was made before this package was imported.
    """
    return vars(model).get(_ARGUMENTS)


def parameters_of(kind: type) -> list[inspect.Parameter]:
    """The arguments that a class takes; none if its constructor does not say."""
    try:
        return list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    except (TypeError, ValueError):
        return []


def _by_name(kind: type, args: tuple, given: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = inspect.signature(kind.__init__).bind(None, *args, **given)  # type: ignore[misc]
    except (TypeError, ValueError):
        return {}  # the constructor raises its own error
    found: dict[str, Any] = {}
    for each in parameters_of(kind):
        value = bound.arguments.get(each.name, each.default)
        if each.kind is each.VAR_KEYWORD:
            more = bound.arguments.get(each.name, {})
            found |= {name: encode(value, by_name) for name, value in more.items()}
        elif each.kind in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY):
            if each.name in bound.arguments:
                found[each.name] = _POSITIONAL
        elif lost(said := encode(value, by_name)) is None or value is not each.default:
            found[each.name] = said  # a default is there again by itself
    return found


_note_arguments()  # memories and configure() import this, so before any model is made


class StepObserver:
    """Reports the end of a model's step: when all events at its time are over.

    So the events of a simulator, or of ``run_for``, are steps of their own, at times
    between those of the user's step.

    Args:
        model: is held weakly.
        over: called then, with True if the user's step was among them.

    Attributes:
        active: False while ``over`` must not be called.

    Raises:
        HostChanged: if this Mesa cannot be watched.
    """

    def __init__(self, model: Any, over: Callable[[bool], None]) -> None:
        check_model(model)
        self._model, self._over = weakref.ref(model), over
        self._event: Any = None  # the last one that was handed out
        self._failed = self.active = False
        self._steps = model._default_schedule.execution_count
        events = model._event_list
        _Pop(events, "pop_event", self)
        _Advance(model, "_advance_time", self)

    @property
    def model(self) -> Any:
        """The model; None once it is gone."""
        return self._model()

    @property
    def unfinished(self) -> bool:
        """True if a step was begun and failed, or is not over."""
        return self._failed or self._has_happened()

    def detach(self) -> None:
        """Restores the model's methods, but keeps wrappers that others have added since."""
        model, self.active = self.model, False
        if model is None:
            return
        for owner in (model, model._event_list):
            for here in list(vars(owner).values()):
                if isinstance(here, _Watched) and here.observer is self:
                    here.take_away(owner)

    def next_event(self, take: Callable[[], Any]) -> Any:
        """The next event; before it, the end of all that was at an earlier time."""
        model = self.model
        try:
            event = take()
        except IndexError:
            self._end()
            raise
        if model is not None and event.time > model.time:
            try:
                self._end()
            except BaseException:
                model._event_list.add_event(event)  # it is still to come
                raise
        self._event = event
        return event

    def fail(self) -> None:
        """The current step ended with an error."""
        self._event, self._failed = None, True

    def _end(self) -> None:
        model = self.model
        if model is not None and self._has_happened():
            before, self._steps = self._steps, model._default_schedule.execution_count
            if self.active:
                self._over(self._steps > before)
            self._failed = False
        self._event = None

    def _has_happened(self) -> bool:
        """False if the event was put back: it is to come later."""
        model = self.model
        event = self._event
        return event is not None and model is not None and model.time >= event.time


class _Watched(CallableWrapper):
    """Puts itself in the place of a method of ``owner``."""

    def __init__(self, owner: Any, name: str, observer: StepObserver) -> None:
        super().__init__(getattr(owner, name))
        self.name, self.observer = name, observer
        self._own = name in vars(owner)  # and not only of its class
        setattr(owner, name, self)

    def take_away(self, owner: Any) -> None:
        """Restores the method, unless another wrapper was added since."""
        if vars(owner).get(self.name) is not self:
            return
        if self._own:
            setattr(owner, self.name, self.inner)
        else:
            delattr(owner, self.name)


class _Pop(_Watched):
    """A list of events handing out the next one."""

    def __call__(self) -> Any:
        return self.observer.next_event(self.inner)


class _Advance(_Watched):
    """A model letting time pass."""

    def __call__(self, *args: Any, **given: Any) -> Any:
        try:
            return self.inner(*args, **given)
        except BaseException:
            self.observer.fail()
            raise


#: step, unique id of an agent (None is the model), values by reporter
type Collected = tuple[float, Any, dict[str, Any]]


class CollectorReader:
    """Reads the new rows of a model's ``datacollector``.

    Args:
        model: with or without a ``datacollector``; rows that exist already are skipped.
    """

    def __init__(self, model: Any) -> None:
        self._seen = _counts(model)

    def forget(self) -> None:
        """Counts all rows as new again."""
        self._seen = (0, 0, 0)

    def new(self, model: Any) -> Iterator[Collected]:
        """The new rows, those of the model first; each is given once."""
        (rows, agents, types), self._seen = self._seen, _counts(model)
        collector = getattr(model, "datacollector", None)
        if collector is None:
            return
        yield from _of_model(collector, self._seen[0] - rows, model)
        for step, found in _since(collector, "_agent_records", agents):
            yield from _rows(step, collector.agent_reporters, found)
        for step, found in _since(collector, "_agenttype_records", types):
            for kind, of_kind in found.items():
                yield from _rows(step, collector.agenttype_reporters[kind], of_kind)


def _counts(model: Any) -> tuple[int, int, int]:
    """The number of rows of the model, of steps of agents, and of steps by class."""
    collector = getattr(model, "datacollector", None)
    series = getattr(collector, "model_vars", {}).values()
    agents = len(getattr(collector, "_agent_records", ()))
    types = len(getattr(collector, "_agenttype_records", ()))
    return max(map(len, series), default=0), agents, types


def _since(collector: Any, name: str, seen: int) -> list[tuple[float, Any]]:
    return list(getattr(collector, name, {}).items())[seen:]


def _of_model(collector: Any, count: int, model: Any) -> Iterator[Collected]:
    """The last ``count`` rows of the model's reporters."""
    steps = list(getattr(collector, "_collection_steps", ()))
    now = getattr(model, "steps", None)
    if len(steps) < count:  # a DataCollector that does not say when
        now = model.time if now is None else now
        steps = [now - n for n in range(count)][::-1]
    for back in range(count, 0, -1):
        values = {
            name: series[-back]
            for name, series in collector.model_vars.items()
            if len(series) >= back
        }
        yield steps[-back], None, values


def _rows(
    step: float, names: Iterable[str], rows: Iterable[Any]
) -> Iterator[Collected]:
    for row in rows:
        yield step, row[1], dict(zip(names, row[2:]))
