"""What a model was made with: noted as it is made, before anything can change.

The arguments stay in the model itself, as JSON: a copy of a model has them, too, and
they keep nothing alive.
"""

import inspect
import sys
from types import FrameType
from typing import Any

import numpy as np

from mesa_memory.core.arguments import SCENARIO, encode, full_name, mark_of, missing
from mesa_memory.hosts.mesa import arguments as mesa_arguments


def noted(model: Any) -> dict[str, Any] | None:
    """The arguments a model was made with, encoded, by name; None if not known.

    They are not known of a model that was made before this package was loaded, unless
    its constructor is still running.
    """
    found, own = mesa_arguments.noted(model), mesa_arguments.notes_itself(model)
    if found is None or not own:
        running = _running(model)
        found = running if running is not None else found if own else None
    return found


def bound(kind: type, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments of a class by name, encoded, with its defaults; None if they misfit.

    ``*args`` have a star before their name; a default that cannot be written down is
    left out, as the class has it again.
    """
    try:
        signature = inspect.signature(kind.__init__)  # type: ignore[misc]
        given = signature.bind(None, *args, **kwargs)
    except (TypeError, ValueError):
        return None  # Python is about to say so itself
    found: dict[str, Any] = {}
    for name, parameter in list(signature.parameters.items())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            more = given.arguments.get(name, {})
            found |= {key: written(value) for key, value in more.items()}
        elif parameter.kind is parameter.VAR_POSITIONAL:
            if name in given.arguments:
                found[f"*{name}"] = [written(v) for v in given.arguments[name]]
        elif name in given.arguments:
            found[name] = written(given.arguments[name])
        elif parameter.default is not parameter.empty:
            default = written(parameter.default)
            if default != missing(parameter.default):
                found[name] = default
    return found


def names(kind: type) -> list[str]:
    """The arguments of a class that have a name."""
    try:
        parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    except (TypeError, ValueError):
        return []
    various = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [each.name for each in parameters if each.kind not in various]


def written(value: Any) -> Any:
    """An argument as JSON, a Mesa ``Scenario`` included: it is a bag of values."""
    if isinstance(value, mesa_arguments.scenario_class()):
        number, parts = mesa_arguments.scenario_parts(value)
        values = {name: encode(part) for name, part in parts.items()}
        return {
            SCENARIO: {"class": full_name(type(value)), "id": number, "values": values}
        }
    return encode(value)


def scenario(recorded: Any, values: dict[str, Any]) -> Any:
    """The Scenario again; None if no class that is loaded here has the recorded name.

    A file can name a class of scenarios, and nothing is imported for it.
    """
    known = [mesa_arguments.scenario_class()]
    for kind in known:
        known += [each for each in kind.__subclasses__() if each not in known]
    for kind in known:
        if full_name(kind) == recorded.get("class"):
            return mesa_arguments.make_scenario(kind, recorded.get("id"), values)
    return None


def seeded(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The same arguments, where none seeds the model with what Mesa drew in its place.

    So a resumed model makes the same world as the one that was made without a seed.
    """
    start, seed = mesa_arguments.first_state(model), mesa_arguments.seed(model)
    drawn = _drawn(start, seed)
    inner: Any = given.get("scenario")
    seeds = [name for name in ("rng", "seed") if name in given]
    unset = "scenario" in given and inner is None and not seeds
    if unset or _by_class(model, given):
        inner = written(model.scenario)
        inner[SCENARIO]["values"]["rng"] = drawn or inner[SCENARIO]["values"].get("rng")
        return given | dict.fromkeys(seeds) | {"scenario": inner}
    if mark_of(inner) == SCENARIO:
        values = {"rng": drawn} | inner[SCENARIO]["values"]
        values["rng"] = drawn if values["rng"] is None else values["rng"]
        return given | {"scenario": {SCENARIO: inner[SCENARIO] | {"values": values}}}
    if any(given[name] is not None for name in seeds):
        return given
    if "rng" in given:
        return given | {"rng": drawn}
    if "seed" in given and isinstance(seed, int | float | str):
        return given | {"seed": encode(seed)}
    return given


def _by_class(model: Any, given: dict[str, Any]) -> bool:
    """True if a model was given the class of its scenario, as Mesa 4 allows."""
    try:
        taken = inspect.signature(type(model).__init__).parameters.get("scenario")
    except (TypeError, ValueError):
        return False
    if taken is None:
        return False
    chosen = given.get("scenario", encode(taken.default))
    return chosen == encode(type(getattr(model, "scenario", None)))


def _drawn(start: Any, seed: Any) -> Any:
    """The generator with which Mesa began; None if its own seed makes it again."""
    if not isinstance(start, dict) or start.get("bit_generator") != "PCG64":
        return None
    source: Any = np.random.PCG64()
    if isinstance(seed, int) and seed >= 0:
        again = np.random.default_rng(seed).bit_generator.state
        if again == start:
            return None
    source.state = start
    return encode(np.random.Generator(source))


def _running(model: Any) -> dict[str, Any] | None:
    """The arguments of a constructor that is running, as they are now."""
    frame: FrameType | None = sys._getframe()
    found = None
    constructor = getattr(type(model).__init__, "__wrapped__", type(model).__init__)
    code = getattr(constructor, "__code__", None)
    while frame is not None:
        names_ = frame.f_code.co_varnames
        if frame.f_code is code and frame.f_locals.get(names_[0]) is model:
            found = frame
        frame = frame.f_back
    if found is None:
        return None
    values = inspect.getargvalues(found)
    args = {
        name: values.locals[name] for name in values.args[1:] if name in values.locals
    }
    more = values.locals.get(values.keywords or "", {})
    given = {name: written(value) for name, value in (args | more).items()}
    if values.varargs and values.locals.get(values.varargs):
        given[f"*{values.varargs}"] = [
            written(v) for v in values.locals[values.varargs]
        ]
    return given


mesa_arguments.note_arguments(bound)
