"""Mesa: what a model was made with: its seed, its scenario, its arguments."""

from collections.abc import Callable
from typing import Any

# -- the seed --------------------------------------------------------------------------


def seed(model: Any) -> Any:
    """What the model's random generators were made with; None if it does not say.

    In Mesa 4 that is the argument ``rng`` where it makes the model's generator, else
    the seed that Mesa derives from the state of that generator.
    """
    if hasattr(model, "_seed"):
        return model._seed
    scenario: Any = getattr(model, "scenario", None)
    if not hasattr(scenario, "initial_rng_state"):
        return None
    given = (noted(model) or {}).get("rng")
    if isinstance(given, int) and _makes(given, scenario.initial_rng_state):
        return given
    return scenario._stdlib_seed


#: where a resumed model has what its run began with
_BEGAN = "_mesa_memory_first_state"


def first_state(model: Any) -> Any:
    """The state of the model's generator before anything was drawn; None if unknown.

    Of a resumed model it is that of its run, also if the model was made without a seed.
    """
    if _BEGAN in getattr(model, "__dict__", {}):
        return model.__dict__[_BEGAN]
    if hasattr(model, "_rng"):
        return model._rng
    return getattr(getattr(model, "scenario", None), "initial_rng_state", None)


def begin_with(model: Any, state: Any) -> None:
    """Says with which state a model counts as begun; see ``first_state``."""
    model.__dict__[_BEGAN] = state


def _makes(given: int, state: Any) -> bool:
    import numpy as np

    return given >= 0 and np.random.default_rng(given).bit_generator.state == state


# -- scenarios -------------------------------------------------------------------------


def scenario_class() -> Any:
    """Mesa's class of a model's parameters."""
    from mesa.experimental.scenarios import Scenario

    return Scenario


def scenario_parts(scenario: Any) -> tuple[Any, dict[str, Any]]:
    """A scenario's number, and the arguments that make it again."""
    if not hasattr(scenario, "initial_rng_state"):
        values = {k: v for k, v in vars(scenario).items() if k != "model"}
        return getattr(scenario, "_scenario_id", None), values
    values = {"rng": _generator(scenario.initial_rng_state), **vars(scenario)}
    if scenario.replication_id is not None:
        values["replication_id"] = scenario.replication_id
    return scenario.scenario_id, values


def make_scenario(kind: Any, number: Any, values: dict[str, Any]) -> Any:
    """A scenario of a class, with the number it had."""
    slots = getattr(scenario_class(), "__slots__", ())
    name = "scenario_id" if "scenario_id" in slots else "_scenario_id"
    return kind(**{name: number}, **values)


def _generator(state: Any) -> Any:
    import numpy as np

    source: Any = getattr(np.random, state["bit_generator"])()
    source.state = state
    return np.random.Generator(source)


# -- arguments -------------------------------------------------------------------------

#: where a model has the arguments it was made with
_NOTED = "_mesa_memory_arguments"


def note_arguments(bound: Callable[[type, tuple, dict], Any]) -> None:
    """From now on each model notes what it is made with; again does nothing.

    Mesa's ``Model`` has no hook for this, so it is done in its ``__new__``.

    Args:
        bound: gives the arguments of a class as they are to be noted; None for none.
    """
    import inspect

    import mesa

    if getattr(mesa.Model.__new__, "notes_arguments", False):
        return

    def make(kind: type, /, *args: Any, **kwargs: Any) -> Any:
        own = super(mesa.Model, kind).__new__
        model = own(kind) if own is object.__new__ else own(kind, *args, **kwargs)
        given = bound(kind, args, kwargs)
        if given is not None:
            model.__dict__[_NOTED] = given
        return model

    marked: Any = make
    # Whoever asks for a bare Model's signature still wants that of its constructor.
    marked.__signature__ = inspect.signature(mesa.Model.__init__)
    marked.notes_arguments = True
    mesa.Model.__new__ = marked


def note(model: Any, given: dict[str, Any]) -> None:
    """Says what a model counts as made with."""
    model.__dict__[_NOTED] = given


def noted(model: Any) -> dict[str, Any] | None:
    """What a model noted; None if it did not."""
    return vars(model).get(_NOTED)


def notes_itself(model: Any) -> bool:
    """True if the model's class notes what it is made with."""
    return getattr(type(model).__new__, "notes_arguments", False)
