"""The parameters of a recorded run: written when it begins, given back to its model.

A file may come from a stranger. Nothing in it may say where requests, and the keys in
them, are sent. So texts other than plain words are taken from a file only if the caller
trusts it.
"""

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from mesa_memory.core.codec import (
    CALL,
    DICT,
    MARKS,
    NAME,
    OBJECT,
    PATH,
    SECRET,
    STORE,
    UNKNOWN,
    by_name,
    decode_argument,
    encode,
    inside,
    loaded,
    lost,
    mark_of,
    missing,
)
from mesa_memory.core.text import redaction
from mesa_memory.errors import ParameterError
from mesa_memory.hosts import mesa
from mesa_memory.hosts.mesa_llm import Memory
from mesa_memory.runs.recording.config import Recording

#: a warning names the user's line that begins the recording
_PACKAGE = str(Path(redaction.__file__).parents[2])
#: begins the names of this package's modules; name of the module of a program
_OURS, _MAIN = "mesa_memory.", "__main__"
#: an argument that says where and how to record; the store is known when resuming
_RECORDING = {NAME: f"{Recording.__module__}:{Recording.__qualname__}"}
#: begins the name of a memory
_PLACEBO = re.compile(r"^placebo:\w+:")
#: words and sentences; addresses, paths, variables and most names of models have others
_PLAIN_WORDS = re.compile(r"(?:[\w\s,;!?'()-]|\.(?=\s|$))*")

#: gives a class or function by ``module:name``, or None; see ``finder``
type Find = Callable[[str], Any]

# -- written -----------------------------------------------------------------------


def of_model(
    model: Any, location: Any, given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The arguments of a model as JSON without secrets, for its run.

    Args:
        location: where it is recorded.
        given: the user's own choice of arguments; None takes the arguments of the
            constructor.
    """
    if given is not None:
        found = {str(name): encode(v, by_name) for name, v in given.items()}
    elif (noted := mesa.noted(model)) is not None:
        found = noted | _seed(model, noted)
    else:
        names = [each.name for each in mesa.parameters_of(type(model))]
        found = {name: {OBJECT: UNKNOWN} for name in names}
        found |= _seed(model, found)
    return {name: _sealed(name, v, location) for name, v in found.items()}


def merged(recorded: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A run's parameters with those given to ``resume`` or ``fork``."""
    return dict(recorded) | sealed(given, None)


def sealed(given: Mapping[str, Any], location: Any) -> dict[str, Any]:
    """Values by name as JSON without secrets and without the place of the record."""
    return {n: _sealed(n, encode(v, by_name), location) for n, v in given.items()}


def _seed(model: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """The argument that seeds a model; a seed that Mesa drew counts as given.

    So a resumed model makes the same world as the one that was made without a seed.
    """
    if found.get("scenario") is not None or isinstance(found.get("seed"), int | float):
        return {}
    if "rng" in found:
        return {"rng": encode(mesa.rng_argument(model))}
    if "seed" in found:
        return {"seed": encode(mesa.seed(model))}
    takes = [each.name for each in mesa.parameters_of(type(model))]
    return {"scenario": missing(model.scenario)} if "scenario" in takes else {}


def _sealed(name: str, value: Any, location: Any) -> Any:
    """An encoded argument as it is written: secrets and the run's own place are not."""
    if mark_of(value) == CALL and value[CALL][0] == _RECORDING:
        return {STORE: True}
    place = value[PATH] if mark_of(value) == PATH else value
    if location is not None and isinstance(place, str) and place == str(location):
        return {STORE: True}
    secret = redaction.secret_name(name)
    if isinstance(value, str):
        secret = secret and bool(value)
        if secret:
            redaction.learn(value)
        return {SECRET: True} if secret or redaction.holds_secret(value) else value
    if mark_of(value) == DICT:
        pairs = [(n, name if secret else str(n), v) for n, v in value[DICT]]
        return {DICT: [[key, _sealed(own, v, location)] for key, own, v in pairs]}
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


def warn_of_lost(model: str, written: Mapping[str, Any]) -> None:
    """Warns, by name, of arguments that cannot be recorded."""
    reasons = {name: why for name, value in written.items() if (why := lost(value))}
    if reasons:
        listed = "; ".join(f"{name} ({why})" for name, why in reasons.items())
        again = ", ".join(f"{name}=…" for name in reasons)
        warnings.warn(
            f"the run of {model} is recorded, but not all arguments of the model: "
            f"{listed}. To continue the run later, give them again: "
            f"resume({model}, file, {again}). Or record a substitute now, as plain "
            "data: configure(model, record=Recording(file, parameters={…})).",
            skip_file_prefixes=(_PACKAGE,),
        )


# -- given back ----------------------------------------------------------------------


def made_with(
    model_class: Callable[..., Any],
    recorded: Mapping[str, Any],
    given: Mapping[str, Any],
    location: Any,
    trust: bool = False,
) -> dict[str, Any]:
    """The arguments to make a run's model with again, by name.

    Args:
        model_class: a class, or a function that makes the model; a function is given
            the recorded arguments that it takes.
        recorded: of the run.
        given: by the caller, in place of those recorded.
        location: of the run's store.
        trust: whether any text is taken from the file.

    Raises:
        ParameterError: names the arguments that the caller must give, and why.
    """
    if not isinstance(recorded, Mapping):
        raise ParameterError(
            f"the run's parameters are {recorded!r:.80}, not an object with names. The "
            "file was changed or damaged; restore a backup."
        )
    fixed = getattr(model_class, "keywords", None) or {}  # of a partial function
    given = {**fixed, **given}
    defaults, takes = _defaults(model_class)
    is_class = isinstance(model_class, type)  # a function chooses
    wanted = {
        name: value
        for name, value in recorded.items()
        if name not in given and (takes(name) or is_class)
        if defaults.get(name, _ABSENT) != value
    }
    find = finder(model_class, trust)
    values, refused = all_taken(wanted, location, find, trust)
    if refused:
        raise demand(model_class, refused)
    return values | given


def all_taken(
    recorded: Mapping[str, Any], location: Any, find: Find, trust: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Arguments from a file by name; and why some of them cannot be taken."""
    found = {n: taken(value, location, find, trust) for n, value in recorded.items()}
    refused = {name: why for name, (_, why) in found.items() if why is not None}
    return {name: v for name, (v, why) in found.items() if why is None}, refused


def finder(model_class: Any, trust: bool) -> Find:
    """Finds the classes and functions that a file names; gives None for another.

    Those are this package's, classes of memories in this program, and what the model's
    module or the program itself has. A trusted file may name any, which is imported.
    """
    own = getattr(getattr(model_class, "func", model_class), "__module__", "")

    def find(name: str) -> Any:
        place, _, path = name.partition(":")
        ours = place.startswith(_OURS)
        if trust or ours:
            with suppress(ImportError, ValueError):
                import_module(place)
        found = loaded(name)
        if found is None and place == _MAIN:  # the model's module was run as a program
            found = loaded(f"{own}:{path}")
        memory = isinstance(found, type) and issubclass(found, Memory)
        return found if trust or ours or memory or place in (own, _MAIN) else None

    return find


def taken(value: Any, location: Any, find: Find, trust: bool) -> tuple[Any, str | None]:
    """An argument from a file; or why it cannot be taken.

    Args:
        find: see ``finder``.
    """
    try:
        why = lost(value) or _refusal(value, find, trust)
        return (None if why else decode_argument(value, location, find)), why
    except Exception as error:  # junk may fail in any way
        why = f"it cannot be made from the file ({type(error).__name__}: {error})"
        return None, why


def demand(model_class: Any, refused: Mapping[str, str]) -> ParameterError:
    """The error that asks for arguments which a file does not give, with the reasons."""
    name = getattr(model_class, "__name__", "model_class")
    listed = "; ".join(f"{key}: {why}" for key, why in refused.items())
    again = ", ".join(f"{key}=…" for key in refused)
    other = f", but an argument memory as fork(partial({name}, memory=…), file)"
    return ParameterError(
        f"the model cannot be made from the file alone ({listed}). Give the missing "
        f"arguments: resume({name}, file, {again}), or make the model yourself: "
        f"resume(lambda: {name}(…), file). If you trust the file, take its texts: "
        f"resume({name}, file, trust=True). fork takes the same{other * ('memory' in refused)}.",
        names=tuple(refused),
    )


def _refusal(value: Any, find: Find, trust: bool) -> str | None:
    """Why an encoded argument of a file is not taken, or needs trust; None if neither."""
    names = [str(part[NAME]) for part in inside(value) if mark_of(part) == NAME]
    for name in names:
        if find(name) is None:
            return (
                f"the file names {name!r:.60}, which is neither a memory nor in the "
                "model's module"
            )
    for part in () if trust else inside(value):
        keys = [key for key in part if key not in MARKS] if type(part) is dict else []
        for text in [part, *keys]:
            if not isinstance(text, str) or text in names:
                continue
            memory = _PLACEBO.sub("", text)
            if not _PLAIN_WORDS.fullmatch(memory) and find(memory) is None:
                shown = redaction.scrub(text)
                return (
                    f"the file says {shown!r:.60}, which may name an address or a model"
                )
    return None


#: equals no default
_ABSENT = object()


def _defaults(model_class: Any) -> tuple[dict[str, Any], Callable[[str], bool]]:
    """The encoded defaults of a callable, and a test if it takes a name."""
    try:
        own = inspect.signature(model_class).parameters
    except (TypeError, ValueError):
        return {}, lambda name: True
    found = {
        name: default
        for name, each in own.items()
        if each.default is not each.empty
        and lost(default := encode(each.default, by_name)) is None
    }
    any_name = any(each.kind is each.VAR_KEYWORD for each in own.values())
    return found, lambda name: any_name or name in own
