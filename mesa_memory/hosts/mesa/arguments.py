"""Mesa: the seed of a model, its scenario, and the arguments it was made with."""

import inspect
from importlib import import_module
from typing import Any

import mesa
import numpy as np

from mesa_memory.core.arguments import OBJECT, encode, lost
from mesa_memory.hosts import changed

# -- the seed --------------------------------------------------------------------------


def seed(model: Any) -> Any:
    """The seed of a model's random generators; None for a model without one.

    In Mesa 4 a number given as ``rng``, or the one that makes the same generator. For
    any other ``rng``, Mesa derives a seed from the state of its generator.
    """
    if hasattr(model, "_seed"):
        return model._seed
    scenario: Any = getattr(model, "scenario", None)
    state = _scenario_state(scenario)
    if state is None:
        return None
    sequence = getattr(scenario, "seed_sequence", None)
    given = sequence.entropy if sequence else (noted(model) or {}).get("rng")
    return given if _makes(given, state) else scenario._stdlib_seed


#: where a resumed model has the state with which its run began
_FIRST_STATE = "_mesa_memory_first_state"


def first_state(model: Any) -> Any:
    """The state of the model's generator before anything was drawn; None if unknown.

    Of a resumed model it is that of its run, also if the model was made without a seed.
    """
    if _FIRST_STATE in getattr(model, "__dict__", {}):
        return model.__dict__[_FIRST_STATE]
    if hasattr(model, "_rng"):
        return model._rng
    return _scenario_state(getattr(model, "scenario", None))


def _scenario_state(scenario: Any) -> Any:
    """The state in which a scenario's generator began; None before Mesa 4."""
    sequence = getattr(scenario, "seed_sequence", None)  # after Mesa 4.0.0a0
    if sequence is None:
        return getattr(scenario, "initial_rng_state", None)
    return type(scenario.rng.bit_generator)(sequence).state


def begin_with(model: Any, state: Any) -> None:
    """Sets the ``first_state`` of a resumed model."""
    model.__dict__[_FIRST_STATE] = state


def rng_argument(model: Any) -> Any:
    """The argument ``rng`` with which Mesa makes a model's generators again."""
    number, state = seed(model), first_state(model)
    return number if state is None or _makes(number, state) else generator(state)


def generator(state: Any) -> np.random.Generator:
    """A generator of numpy in this state."""
    source: Any = getattr(np.random, state["bit_generator"])(0)
    source.state = state
    return np.random.Generator(source)


def _makes(number: Any, state: Any) -> bool:
    if not isinstance(number, int | np.integer) or number < 0:
        return False
    return np.random.default_rng(number).bit_generator.state == state


# -- scenarios -------------------------------------------------------------------------


def scenario_class() -> Any:
    """Mesa's class of a model's parameters."""
    from mesa.experimental.scenarios import Scenario

    return Scenario


def scenario_parts(scenario: Any) -> tuple[Any, dict[str, Any]]:
    """A scenario's number, and the arguments that make it again."""
    state = _scenario_state(scenario)
    if state is None:
        values = {k: v for k, v in vars(scenario).items() if k != "model"}
        return getattr(scenario, "_scenario_id", None), values
    sequence = getattr(scenario, "seed_sequence", None)
    values = {"rng": sequence or generator(state), **vars(scenario)}
    if scenario.replication_id is not None:
        values["replication_id"] = scenario.replication_id
    return scenario.scenario_id, values


def make_scenario(kind: Any, number: Any, values: dict[str, Any]) -> Any:
    """A scenario of a class, with the number it had."""
    slots = getattr(scenario_class(), "__slots__", ())
    name = "scenario_id" if "scenario_id" in slots else "_scenario_id"
    return kind(**{name: number}, **values)


def scenario_runs() -> Any:
    """Mesa's modules for the runs of scenarios: of the store, and of errors.

    Raises:
        HostChanged: if the installed Mesa lacks them, as those before 4.0 do.
    """
    try:
        place = "mesa.experimental.scenarios."
        return import_module(place + "store"), import_module(place + "exceptions")
    except ImportError as error:
        advice = "run_scenarios needs Mesa's main branch of August 2026 or later."
        raise changed("mesa", str(error), advice) from None


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
            found |= {name: encode(value, code=True) for name, value in more.items()}
        elif each.kind in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY):
            if each.name in bound.arguments:
                found[each.name] = _POSITIONAL
        elif (
            lost(said := encode(value, code=True)) is None or value is not each.default
        ):
            found[each.name] = said  # a default is there again by itself
    return found


_note_arguments()  # memories and configure() import this, so before any model is made
