"""The parameters of a recorded run: written when it begins, given back to its model.

A file may come from a stranger. Nothing in it may say where requests, and the keys in
them, are sent: an address in it is refused unless the caller gives that argument.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mesa_memory.core.arguments import (
    BITS,
    DICT,
    GENERATOR,
    MARKS,
    NUMBER,
    OBJECT,
    PATH,
    SCENARIO,
    SECRET,
    SEEDS,
    STORE,
    TUPLE,
    UNKNOWN,
    encode,
    inside,
    lost,
    mark_of,
    number_of,
)
from mesa_memory.core.text import redaction
from mesa_memory.core.text.addresses import is_address
from mesa_memory.errors import ParameterError
from mesa_memory.hosts.mesa import arguments as mesa_arguments
from mesa_memory.hosts.mesa import model as mesa
from mesa_memory.runs.recording import construction

_SOURCES = {
    name: getattr(np.random, name)
    for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}
#: a warning names the line of the user's that begins the recording
_PACKAGE = str(Path(redaction.__file__).parents[1])
#: the classes of arguments that say where to record; the run is where it is
_RECORDINGS = ("Recording",)


# -- written -----------------------------------------------------------------------


def of_model(
    model: Any, location: Any, given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What a model's run says it was made with, as JSON without secrets.

    Warns, by name, of what cannot be recorded and must be given to ``resume`` again.

    Args:
        location: where it is recorded.
        given: what the user says it was made with; None takes what was noted.
    """
    if given is not None:
        found = {str(name): construction.written(v) for name, v in given.items()}
    else:
        noted = construction.noted(model)
        found = _unknown(model) if noted is None else noted
        found = construction.seeded(model, found)
    mesa_arguments.note(model, found)
    sealed = {name: _sealed(name, v, location) for name, v in found.items()}
    _warn(type(model).__name__, sealed)
    return sealed


def merged(recorded: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A run's parameters with those that ``resume`` or ``fork`` was given."""
    new = {name: construction.written(value) for name, value in given.items()}
    return dict(recorded) | {name: _sealed(name, v, None) for name, v in new.items()}


def _unknown(model: Any) -> dict[str, Any]:
    names = construction.names(type(model))
    found: dict[str, Any] = {name: {OBJECT: UNKNOWN} for name in names}
    # The seed stands in the model itself.
    seed = construction.seeded(model, {"rng": None})["rng"]
    if "rng" in found:
        found["rng"] = encode(mesa_arguments.seed(model)) if seed is None else seed
    elif "seed" in found:
        found["seed"] = encode(mesa_arguments.seed(model))
    return found


def _sealed(name: str, value: Any, location: Any) -> Any:
    """An encoded argument as it is written: secrets and the run's own place are not."""
    place = value[PATH] if mark_of(value) == PATH else value
    if location is not None and isinstance(place, str) and place == str(location):
        return {STORE: True}
    secret = redaction.secret_name(name)
    if isinstance(value, str):
        secret = secret and bool(value)
        if secret:
            redaction.learn(value)
        return {SECRET: True} if secret or redaction.holds_secret(value) else value
    if isinstance(value, dict):
        if secret and mark_of(value) is None and value:
            redaction.learn_named({name: value})
        return {
            key: _sealed(name if secret or key.startswith("$") else key, item, location)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_sealed(name, item, location) for item in value]
    return value


def _warn(model: str, sealed: Mapping[str, Any]) -> None:
    # Where to record is known again when it is resumed.
    gone = {n: lost(v) for n, v in sealed.items() if v != {OBJECT: "Recording"}}
    told = [f"{name} ({why})" for name, why in gone.items() if why]
    if told:
        named = ", ".join(f"{name}=…" for name, why in gone.items() if why)
        warnings.warn(
            f"the run of {model} is recorded, but not all that the model was made "
            f"with: {'; '.join(told)}. To go on with the run, give it again: "
            f"resume({model}, file, {named}). Or say now what to record, as plain "
            "data: configure(model, record=Recording(file, parameters={…})).",
            skip_file_prefixes=(_PACKAGE,),
        )


# -- given back ----------------------------------------------------------------------


def made_with(
    model_class: Callable[..., Any],
    recorded: Mapping[str, Any],
    given: Mapping[str, Any],
    location: Any,
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments to make a run's model with again.

    Args:
        model_class: a class, or a function that makes the model; a function is given
            what it takes.
        recorded: of the run.
        given: by the caller, in place of those recorded.
        location: of the run's store.

    Raises:
        ParameterError: names what the caller must give, and why.
    """
    if not isinstance(recorded, Mapping):
        raise ParameterError(
            f"the run's parameters are {recorded!r:.80}, and no object with names. The "
            "file was changed or damaged; restore a backup.",
        )
    given = _fixed(model_class) | dict(given)
    defaults, takes = _defaults(model_class)
    values: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for name, value in recorded.items():
        if name in given or not takes(name):
            continue
        if name in defaults and defaults[name] == value:
            continue  # the class says so itself
        values[name], why = _taken(name, value, location)
        if why is not None:
            refused[name] = why
    if refused:
        raise _demand(model_class, refused)
    return _positional(model_class, values | dict(given))


def _taken(name: str, value: Any, location: Any) -> tuple[Any, str | None]:
    """An argument from a file; or why it cannot be taken."""
    try:
        why = _refusal(name, value)
        return (None if why else _decoded(value, location)), why
    except Exception as error:  # junk may fail in any way
        return (
            None,
            f"it cannot be made from the file ({type(error).__name__}: {error})",
        )


def _demand(model_class: Any, refused: Mapping[str, str]) -> ParameterError:
    name = getattr(model_class, "__name__", "model_class")
    told = "; ".join(f"{key}: {why}" for key, why in refused.items())
    again = ", ".join(f"{key.lstrip('*')}=…" for key in refused)
    return ParameterError(
        f"the model cannot be made from the file alone ({told}). Give what is missing: "
        f"resume({name}, file, {again}), and fork likewise.",
        names=tuple(refused),
    )


def _refusal(name: str, value: Any) -> str | None:
    """Why an encoded argument of a file may not be used; None if it may."""
    if mark_of(value) == OBJECT and value[OBJECT] in _RECORDINGS:
        return None
    if (why := lost(value)) is not None:
        return why
    texts = [part for part in _named(name, value) if isinstance(part[1], str)]
    if any(is_address(text, where) for where, text in texts):
        return "it holds an address, and addresses are not taken from a file"
    return None


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    for where, part in inside(value, name):
        yield where, part
        if isinstance(part, dict):
            yield from (("", key) for key in part if key not in MARKS)


def _decoded(value: Any, location: Any) -> Any:
    """The argument that was written; an invalid value raises Python's own errors."""
    mark = mark_of(value)
    if mark is None:
        if isinstance(value, dict):
            return {key: _decoded(item, location) for key, item in value.items()}
        if isinstance(value, list):
            return [_decoded(item, location) for item in value]
        return value
    item = value[mark]
    if mark in (STORE, OBJECT):
        return location
    if mark == NUMBER:
        return number_of(item)
    if mark == PATH:
        return Path(item)
    if mark == SCENARIO:
        values = {key: _decoded(v, location) for key, v in item["values"].items()}
        found = construction.scenario(item, values)
        if found is None:
            raise ValueError(f"no class {item.get('class')!r:.80} is loaded")
        return found
    inner = (
        {key: _decoded(v, location) for key, v in item.items()}
        if isinstance(item, dict)
        else [_decoded(v, location) for v in item]
    )
    return _made(mark, inner)


def _made(mark: str, inner: Any) -> Any:
    if mark == TUPLE:
        return tuple(inner)
    if mark == SEEDS:
        spawned = inner.pop("n_children_spawned", 0)
        return np.random.SeedSequence(**inner, n_children_spawned=spawned)
    if mark in (GENERATOR, BITS):
        source = _SOURCES[inner["bit_generator"]](0)
        source.state = _arrays(inner)
        return np.random.Generator(source) if mark == GENERATOR else source
    assert mark == DICT, mark
    return inner


def _arrays(state: Any) -> Any:
    """A generator's state, with arrays where numpy wants them."""
    if isinstance(state, dict):
        return {key: _arrays(item) for key, item in state.items()}
    return np.array(state, dtype=np.uint64) if isinstance(state, list) else state


def _fixed(model_class: Any) -> dict[str, Any]:
    """What a partial function was given already: by the caller, not by the file."""
    return dict(getattr(model_class, "keywords", None) or {})


def _defaults(
    model_class: Any,
) -> tuple[dict[str, Any], Callable[[str], bool]]:
    """The encoded defaults of a callable, and what says if it takes a name."""
    try:
        own = inspect.signature(model_class).parameters
    except (TypeError, ValueError):
        return {}, lambda name: True
    found = {
        name: construction.written(each.default)
        for name, each in own.items()
        if each.default is not each.empty
    }
    kinds = {each.kind for each in own.values()}
    # A class that lacks an argument has changed: Python says so. A function chooses.
    whole = isinstance(model_class, type) or inspect.Parameter.VAR_KEYWORD in kinds

    def takes(name: str) -> bool:
        return whole or name in own

    return found, takes


def _positional(
    model_class: Any, values: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The values as a call has them: what has a star, and all before it, by position."""
    starred = [name for name in values if name.startswith("*")]
    try:
        own = list(inspect.signature(model_class).parameters.values())
    except (TypeError, ValueError):
        own = []
    args: list[Any] = []
    for each in own:
        if each.kind is each.VAR_POSITIONAL:
            args += values.pop(f"*{each.name}", [])
        elif each.kind is each.POSITIONAL_ONLY or (
            starred and each.kind is each.POSITIONAL_OR_KEYWORD
        ):
            if each.name not in values:
                break
            args.append(values.pop(each.name))
    return args, values


# -- what is changed after the constructor -------------------------------------------


def changed(model: Any) -> dict[str, list[Any]]:
    """Attributes named like arguments that are no longer what the argument was.

    Such as a sweep or a slider sets: name to the argument and the attribute, encoded.
    """
    found = {}
    for name, argument in (construction.noted(model) or {}).items():
        if name in mesa.MODEL_ATTRIBUTES or redaction.secret_name(name):
            continue
        if not _settable(model, name):
            continue
        now = encode(getattr(model, name))
        if now != argument and lost(now) is None and _sealed(name, now, None) == now:
            found[name] = [argument if lost(argument) is None else None, now]
    return found


def refuse_changes(changes: Any, given: Mapping[str, Any], model_class: Any) -> None:
    """Raises if what was changed in a run would bring an address out of a file.

    Raises:
        ParameterError: names what the caller must give.
    """
    refused = {}
    for name, pair in _changes(changes):
        if name not in given and (why := _taken(name, pair[1], None)[1]) is not None:
            refused[name] = why
    if refused:
        raise _demand(model_class, refused)


def take_up(model: Any, changes: Any, given: Mapping[str, Any]) -> None:
    """Changes a new model's attributes as they were changed in its run.

    What the caller gave stays, and so does what the model was made with otherwise.
    """
    noted = construction.noted(model) or {}
    for name, (argument, now) in _changes(changes):
        if name in given or name in mesa.MODEL_ATTRIBUTES or not _settable(model, name):
            continue
        own = noted.get(name)
        if (own if lost(own) is None else None) != argument:
            continue
        if encode(getattr(model, name)) != now:
            setattr(model, name, _decoded(now, None))


def _changes(changes: Any) -> list[tuple[str, list[Any]]]:
    if not isinstance(changes, Mapping):
        return []
    pairs = [(str(name), pair) for name, pair in changes.items()]
    return [(n, p) for n, p in pairs if isinstance(p, list) and len(p) == 2]


def _settable(model: Any, name: str) -> bool:
    """True for an attribute of the model's own that can be read and set."""
    if name in vars(model):
        return True
    own = getattr(type(model), name, None)
    if isinstance(own, property):
        return own.fset is not None
    return hasattr(own, "__set__") and hasattr(model, name)
