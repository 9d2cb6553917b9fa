"""With what the runs of a study are made: code, prompts, configuration and versions."""

import ast
import hashlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import mesa_memory.tasks as tasks
from mesa_memory.core.arguments import encode
from mesa_memory.core.redaction import hide
from mesa_memory.llm.base import LLMSettings
from mesa_memory.runs.recording.config import versions

#: hexadecimal digits of each hash
DIGITS = 16
#: parts of a fingerprint, in the order in which differences are told
PARTS = ("code", "prompts", "configuration", "versions")
_PACKAGE = "mesa_memory"

type Fingerprint = dict[str, dict[str, str]]


def fingerprint(
    objects: Iterable[Any], configuration: Mapping[str, Any]
) -> Fingerprint:
    """What a study's results depend on, besides parameters and seeds.

    Code is the file of each object, and all files of its package that are imported from
    there; the files of other packages count by their versions.

    Args:
        objects: the model, measures, and factories of factors.
        configuration: what else is chosen, as plain data.

    Returns:
        For each part, a hash or a value by name.
    """
    chosen = hide(encode({**asdict(LLMSettings()), **configuration}))
    return {
        "code": {name: _hash(text) for name, text in sorted(_code(objects))},
        "prompts": dict(_prompts()),
        "configuration": {
            name: json.dumps(value, sort_keys=True) for name, value in chosen.items()
        },
        "versions": versions(),
    }


def digest(print_: Mapping[str, Any]) -> str:
    """The hash of a whole fingerprint."""
    return _hash(json.dumps(print_, sort_keys=True))


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two fingerprints, in words; nothing if they are equal."""
    found = []
    for part in PARTS:
        old, new = before.get(part, {}), now.get(part, {})
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                found.append(f"{part}: {_changed(part, name, old, new)}")
    return found


def _changed(part: str, name: str, old: Mapping[str, str], new: Mapping) -> str:
    if name not in new:
        return f"{name} is gone"
    if name not in old:
        return f"{name} is new"
    if part in ("code", "prompts"):
        return f"{name} was changed"
    return f"{name} was {old[name]}, is {new[name]}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def _prompts() -> Iterator[tuple[str, str]]:
    """Each task of the package with the hash of its file."""
    folder = Path(tasks.__file__).parent
    for file in sorted(folder.glob("*.py")):
        if file.name not in ("__init__.py", "registry.py"):
            yield file.stem, _hash(file.read_text(encoding="utf-8"))


def _code(objects: Iterable[Any]) -> set[tuple[str, str]]:
    """Names and texts of the files in which objects and what they use are defined."""
    found: dict[Path, str] = {}
    waiting = [_module_of(each) for each in objects]
    roots = {m: _root(m) for m in waiting if m is not None}
    ahead = [(name, root) for name, root in roots.items() if root is not None]
    while ahead:
        name, root = ahead.pop()
        file = _file_of(name)
        if file is None or file in found or not file.is_relative_to(root):
            continue
        found[file] = file.read_text(encoding="utf-8", errors="replace")
        ahead += [(other, root) for other in _imports(name, file, found[file])]
    folders = [root for root in roots.values() if root is not None]
    return {(_short(file, folders), text) for file, text in found.items()}


def _short(file: Path, roots: list[Path]) -> str:
    """A file's path below its package, the same on every machine."""
    root = max((r for r in roots if file.is_relative_to(r)), key=lambda r: len(r.parts))
    return file.relative_to(root.parent).as_posix()


def _module_of(thing: Any) -> str | None:
    while isinstance(thing, partial):
        thing = thing.func
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        thing = type(thing)
    name = getattr(thing, "__module__", None)
    return None if name in (None, "builtins") else name


def _root(module: str) -> Path | None:
    """The folder whose files count: that of the package, of ours that of the example."""
    file = _file_of(module)
    top = module.partition(".")[0]
    if file is None:
        return None
    if top == _PACKAGE:
        return file.parent if ".examples." in module else None
    package = _file_of(top)
    inside = package is not None and package.name == "__init__.py"
    return package.parent if inside and package is not None else file.parent


def _file_of(module: str) -> Path | None:
    """The file of a module; None if it has none, or is not there."""
    known = sys.modules.get(module)
    path = getattr(known, "__file__", None)
    if known is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        path = None if spec is None else spec.origin
    if not path or not path.endswith(".py") or not Path(path).exists():
        return None
    return Path(path).resolve()


def _imports(module: str, file: Path, text: str) -> list[str]:
    """The modules that a file imports, and perhaps names in them."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    inside = file.name == "__init__.py"
    package = module if inside else module.rpartition(".")[0]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, *filter(None, [node.module])])
            base = base if node.level else node.module or ""
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [name for name in found if name]
