"""A study in a file: Python with a variable ``study``, or TOML."""

import importlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesa_memory.experiments.changes import ChangeAfter
from mesa_memory.experiments.importing import MODELS, importable, named
from mesa_memory.stores.open import is_path

if TYPE_CHECKING:
    from mesa_memory.experiments.studies.study import Study

#: what a TOML file may say of a study
KEYS = (
    "model", "factors", "parameters", "seeds", "steps", "replicates", "measures",
    "store", "name",
)  # fmt: skip
#: beside changes that begin in the middle of a run, the level without one
UNCHANGED = "unchanged"


def read_study(path: str | Path) -> "Study":
    """The study that a file describes.

    Args:
        path: of a Python file, which is run, or of a TOML file. A store without a
            folder is beside the file of a TOML study, and in the current folder else.

    Raises:
        ValueError: says what is wrong with the file.
        FileNotFoundError: if the file does not exist.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"{file} was not found")
    if file.suffix == ".py":
        return _of_python(file)
    if file.suffix == ".toml":
        return _of_toml(file)
    raise ValueError(
        f"{file} must be a Python file with a variable study, or a TOML file (.toml)"
    )


def _of_python(file: Path) -> "Study":
    """The variable ``study`` of a module, which other processes can import, too."""
    from mesa_memory.experiments.studies.study import Study

    importable(file.parent)
    module = importlib.import_module(file.stem)
    if Path(module.__file__ or "").absolute() != file.absolute():
        raise ValueError(
            f"{file} cannot be loaded: another module is called {file.stem!r} already "
            f"({module.__file__}). Give the file another name."
        )
    found = getattr(module, "study", None)
    if not isinstance(found, Study):
        raise ValueError(
            f"{file} must have a variable study = Study(…), and study is {found!r}"
        )
    return found


def _of_toml(file: Path) -> "Study":
    from mesa_memory.experiments.studies.study import Study

    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not valid TOML: {error}") from error
    unknown = [key for key in said if key not in KEYS]
    if unknown:
        raise ValueError(
            f"{file}: a study has no key {unknown[0]!r}; its keys are {', '.join(KEYS)}"
        )
    missing = [key for key in ("model", "steps") if key not in said]
    if missing:
        raise ValueError(f"{file} must say {' and '.join(missing)}")
    factors = {name: [value] for name, value in said.pop("parameters", {}).items()}
    for name, values in said.pop("factors", {}).items():
        several = values if isinstance(values, list) else [values]
        changing = any(isinstance(each, Mapping) for each in several)
        factors[name] = [
            None if changing and each == UNCHANGED else _value(file, each)
            for each in several
        ]
    measures = {
        name: _named(file, where) for name, where in said.pop("measures", {}).items()
    }
    store = said.pop("store", f"{file.stem}.sqlite")
    if is_path(store):
        store = str(file.parent / store)
    model = said.pop("model")
    rest = {"name": file.stem} | said
    return Study(
        _named(file, MODELS.get(model, model)), factors,
        measures=measures or None, store=store, **rest,
    )  # fmt: skip


def _value(file: Path, given: Any) -> Any:
    """A factor's value; a table with a step and a change is a ``ChangeAfter``."""
    if not isinstance(given, Mapping):
        return given
    if "step" not in given or "change" not in given:
        raise ValueError(
            f"{file}: a value that is a table must have step and change, such as "
            f"{{step = 20, change = 'swap:episodic'}}, got {dict(given)!r}"
        )
    change = given["change"]
    if ":" in change and not change.startswith("swap:"):
        change = _named(file, change)
    return ChangeAfter(given["step"], change, given.get("label", ""))


def _named(file: Path, where: Any) -> Any:
    """The object named ``module:name``; the module may be beside the file."""
    if not isinstance(where, str) or ":" not in where:
        raise ValueError(
            f"{file}: give module:name, or {', '.join(MODELS)}, not {where!r}"
        )
    try:
        return named(where, file.parent)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
