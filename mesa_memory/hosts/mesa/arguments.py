"""Mesa: the seed of a model, its scenario, and the arguments it was made with."""

import inspect
from typing import Any

import mesa
import numpy as np

from mesa_memory.core.codec import OBJECT, by_name, encode, generator, lost

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
