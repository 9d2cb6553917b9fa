"""The fingerprint of a study: hashes of code and prompts, configuration and versions.

Code counts without what does not run: comments, docstrings and layout. Docstrings that a
language model reads are kept: those of tools, and of pydantic models, whose schema has
them. Left out are also ``study = Study(…)``, whose parts are hashed apart, and what only
the program itself runs: the statements under ``if __name__ == "__main__"``.
"""

import ast
import hashlib
import inspect
import json
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from mesa_memory.core.codec import encode
from mesa_memory.core.prompt_files import FOLDER
from mesa_memory.core.text.redaction import hide
from mesa_memory.runs.recording.config import versions

#: hexadecimal digits of each hash
HASH_DIGITS = 16
#: parts of a fingerprint, in the order of a list of differences
PARTS = ("code", "prompts", "configuration", "levels", "versions")
#: the condition of statements that workers do not run
PROGRAM = "__name__ == '__main__'"
#: what may have a docstring
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_PACKAGE = FOLDER.absolute().parent
_FOLDERS_OF_PACKAGES = frozenset({"site-packages", "dist-packages"})
_STANDARD_LIBRARY = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}

type Fingerprint = dict[str, dict[str, Any]]


def fingerprint(
    objects: Iterable[Any], configuration: Mapping[str, Any], levels: Mapping[str, Any]
) -> Fingerprint:
    """The hashes of all that results depend on, besides parameters and seeds.

    Code is the file of each object, and all files that it imports from the same project.
    Installed packages count by their versions. Settings count where they are chosen:
    in the code of the model, or in a factor, which is part of each run's parameters.

    Args:
        objects: the model, measures, and factories of factors.
        configuration: other choices, as plain data.
        levels: of factors, by label, as plain data. Some may be new.

    Returns:
        For each part, a hash or a value by name.
    """
    chosen = {"configuration": _texts(configuration), "levels": _texts(levels)}
    return _made_of(objects, _reachable) | chosen


def digest(print_: Mapping[str, Any]) -> str:
    """The hash of a whole fingerprint."""
    return _hash(json.dumps(print_, sort_keys=True))


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences between two fingerprints, in words; empty if they are equal."""
    found = []
    for part in PARTS:
        old, new = before.get(part, {}), now.get(part, {})
        both = old.keys() & new.keys()
        for name in sorted(both if part == "levels" else old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                found.append(f"{part}: {_changed(part, name, old, new)}")
    return found


def changed_code(before: Mapping[str, Any], objects: Iterable[Any]) -> list[str]:
    """The differences between a study's fingerprint and the code of this process.

    A file counts as it was when this was called for it first, soon after it was loaded.

    Args:
        before: the study's; parts that it does not have are not compared.
        objects: those of one run.
    """
    now = _made_of(objects, _loaded)
    known = {
        part: {name: v for name, v in before[part].items() if name in now[part]}
        for part in now.keys() & before.keys()
    }
    return differences(known, {part: now[part] for part in known})


def _changed(part: str, name: str, old: Mapping[str, Any], new: Mapping) -> str:
    if name not in new:
        return f"{name} is gone"
    if name not in old:
        return f"{name} is new"
    if part in ("code", "prompts"):
        return f"{name} was changed"
    return f"{name} was {old[name]}, is {new[name]}"


def _hash(text: str) -> str:
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:HASH_DIGITS]


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    found = hide(encode(dict(values)))
    return {name: json.dumps(value, sort_keys=True) for name, value in found.items()}


@cache
def _prompts() -> dict[str, str]:
    """The hash of each prompt file of the package, as it was at first."""
    found = {}
    for file in sorted(FOLDER.rglob("*.md")):
        name = file.relative_to(FOLDER).with_suffix("").as_posix()
        found[name] = _hash(file.read_text(encoding="utf-8"))
    return found


def _made_of(
    objects: Iterable[Any], reachable: Callable[[Path, Path], Mapping[Path, str]]
) -> Fingerprint:
    """The hashes of the project's files by short name and of prompts, and all versions.

    Imports are followed by path below the folder that a module is imported from. Nothing
    is imported for it, so it is the same in every process.
    """
    code: dict[str, str] = {}
    installed: dict[str, str] = {}
    for name in sorted(set(filter(None, map(module_of, objects)))):
        file = _file_of(name)
        if file is None:
            continue
        if _is_installed(file):
            installed |= _version_of(name.partition(".")[0])
        elif _is_project(file):
            base = _base(name, file)
            for found, text in reachable(file, base).items():
                code[_short(found, base)] = _hash(_running(text))
    code, known = dict(sorted(code.items())), installed | versions()
    return {"code": code, "prompts": _prompts(), "versions": known}


def _short(file: Path, base: Path) -> str:
    """A file's path from its package or folder on, the same on every machine."""
    path = file.relative_to(base)
    return (path if len(path.parts) > 1 else base.name / path).as_posix()


def module_of(thing: Any) -> str | None:
    """The module of a function, a class or the class of an object; None if built in."""
    while isinstance(thing, partial):
        thing = thing.func
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        thing = type(thing)
    name = getattr(thing, "__module__", None)
    return None if name in (None, "builtins") else name


def _file_of(module: str) -> Path | None:
    """The Python file of a loaded module; None for any other."""
    path = getattr(sys.modules.get(module), "__file__", None)
    # A link into a package cache still counts as installed, so links are not resolved.
    file = None if not path else Path(path).absolute()
    return file if file and file.suffix == ".py" and file.is_file() else None


def _is_installed(file: Path) -> bool:
    """True for files of the standard library and of installed packages."""
    return not _FOLDERS_OF_PACKAGES.isdisjoint(file.parts) or any(
        file.is_relative_to(path) for path in _STANDARD_LIBRARY
    )


def _is_project(file: Path) -> bool:
    """False for this package, except for its examples: its version counts."""
    inside = file.is_relative_to(_PACKAGE)
    return not inside or file.is_relative_to(_PACKAGE / "examples")


def _base(module: str, file: Path) -> Path:
    """The folder from which a module's absolute name leads to its file."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    names = (module if spec is None else spec.name).split(".")
    if file.name == "__init__.py":
        names.append("__init__")
    if list(file.with_suffix("").parts[-len(names) :]) == names:
        return file.parents[len(names) - 1]
    return file.parent


def _reachable(file: Path, base: Path) -> dict[Path, str]:
    """The text of a file, and of all that it imports from the same project."""
    found: dict[Path, str] = {}
    waiting = [file]
    while waiting:
        file = waiting.pop()
        if file in found or _is_installed(file) or not _is_project(file):
            continue
        found[file] = file.read_text(encoding="utf-8", errors="replace")
        waiting += _imports(file, found[file], base)
    return found


_loaded = cache(_reachable)


def _imports(file: Path, text: str, base: Path) -> list[Path]:
    """The files below ``base`` that a file imports."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    around = [folder for folder in file.parents if folder.is_relative_to(base)]
    found = [
        file for folder in around[:-1] if (file := folder / "__init__.py").is_file()
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found += _along(around, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            folders = around[node.level - 1 : node.level] if node.level else around
            names = node.module.split(".") if node.module else []
            for alias in node.names:
                found += _along(folders, [*names, alias.name])
    return found


def _along(folders: Iterable[Path], names: Sequence[str]) -> Iterator[Path]:
    """The files of a module and of the packages around it, in each of the folders."""
    for folder in folders:
        for length in range(1, len(names) + 1):
            place = folder.joinpath(*names[:length])
            files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
            yield from filter(Path.is_file, files)


def _version_of(module: str) -> dict[str, str]:
    """The version of the package that a module was installed with, if it is known."""
    names = metadata.packages_distributions().get(module, [])
    return {name: metadata.version(name) for name in names}


def _running(text: str) -> str:
    """The code of a file that runs in a worker; the text, if it is not Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return text
    tree.body = [node for node in tree.body if not _is_program(node)]
    for node in ast.walk(tree):
        told = isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None
        if told and not _is_read(node):
            del node.body[0]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_program(node: ast.stmt) -> bool:
    """True for what workers do not run, and for ``study = Study(…)``.

    The parts of a study are in its configuration, its levels and each run's parameters.
    """
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == PROGRAM
    call = node.value if isinstance(node, ast.Assign) else None
    called = call.func if isinstance(call, ast.Call) else None
    return called is not None and ast.unparse(called).rpartition(".")[2] == "Study"


def _is_read(node: ast.AST) -> bool:
    """True for a definition whose docstring a language model reads."""
    if isinstance(node, ast.ClassDef):
        return any("BaseModel" in ast.unparse(each) for each in node.bases)
    return any("tool" in ast.unparse(e) for e in getattr(node, "decorator_list", ()))


def identity(given: Any) -> Any:
    """The name of a function and the values bound to it, as JSON; plain data as it is.

    Another object is known by its class, a dataclass with a hash also by its fields. The code
    of a function is not in it, except of a lambda, which has no name.
    """
    if isinstance(given, partial):
        return [identity(given.func), identity(given.args), identity(given.keywords)]
    if isinstance(given, list | tuple):
        return [identity(each) for each in given]
    if isinstance(given, dict):
        return {str(name): identity(each) for name, each in given.items()}
    if inspect.isfunction(given):
        name = given.__qualname__
        told = _source(given) if name.endswith("<lambda>") else name
        bound = inspect.getclosurevars(given).nonlocals
        values = [*(given.__defaults__ or ()), given.__kwdefaults__ or {}, bound]
        return [told, *map(identity, filter(None, values))]
    if isinstance(given, type) or inspect.isroutine(given):
        return given.__qualname__
    if is_dataclass(given) and given.__hash__ is not None:  # nothing changes its fields
        own = {each.name: getattr(given, each.name) for each in fields(given)}
        return [type(given).__qualname__, identity(own)]
    return encode(given)


def _source(function: Callable[..., Any]) -> str:
    """The code of the lambdas that begin in a function's line."""
    try:
        lines, _ = inspect.findsource(function)
        tree = ast.parse("".join(lines))
    except (OSError, SyntaxError):  # typed into a console
        return function.__qualname__
    first = function.__code__.co_firstlineno
    found = [each for each in ast.walk(tree) if isinstance(each, ast.Lambda)]
    return "; ".join(ast.unparse(each) for each in found if each.lineno == first)
