"""The package's files, their rooms, and who imports whom."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import mesa_memory

ROOT = Path(mesa_memory.__file__).parent
PACKAGE = "mesa_memory"
#: examples are programs of users: no rule of the house is theirs but the first
FILES = sorted(p for p in ROOT.rglob("*.py") if "examples" not in p.parts)


#: a folder in a room that has rules of its own: what writes runs beside what reads them
INNER = {"runs.recording": "recording"}


def place(path: Path) -> str:
    """A file's path below the package."""
    return path.relative_to(ROOT).as_posix()


def room(name: str) -> str:
    """The room of a file or a module: ``core/records.py`` and ``core.records`` are in ``core``.

    The errors are at the top so that users find them; every room knows them, core too.
    """
    dotted = name.replace("/", ".").removesuffix(".py")
    for inner, known_as in INNER.items():
        if f"{dotted}.".startswith(f"{inner}."):
            return known_as
    head = dotted.partition(".")[0]
    return "core" if head == "errors" else head


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The syntax tree of a file, flat."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported(path: Path) -> frozenset[str]:
    """Module names a file imports, late imports included; ``a.b`` for ``from a import b``."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def heads(path: Path) -> set[str]:
    """The top-level packages a file imports."""
    return {name.partition(".")[0] for name in imported(path)}


def rooms_of(path: Path) -> set[str]:
    """The other rooms a file imports from."""
    ours = {n.removeprefix(f"{PACKAGE}.") for n in imported(path)}
    there = {room(n) for n in ours if n.partition(".")[0] in TOP}
    return there - {room(place(path))}


#: every name at the top of the package: files and folders
TOP = {
    p.name.removesuffix(".py")
    for p in ROOT.iterdir()
    if p.name != "__init__.py" and (p.suffix == ".py" or (p / "__init__.py").exists())
}

#: every room, with those inside of others
ROOMS = TOP | set(INNER.values())


def arrows(exceptions: Iterable[tuple[str, str]] = ()) -> dict[str, set[str]]:
    """Room -> the rooms that its files import, but for (file, room) in exceptions."""
    found: dict[str, set[str]] = {room(name): set() for name in ROOMS}
    for path in ROOT.rglob("*.py"):
        here = place(path)
        if here != "__init__.py":
            left_out = {there for file, there in exceptions if file == here}
            found[room(here)] |= rooms_of(path) - left_out
    return found


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    """All rooms that one comes to from a room, however far; itself in a circle."""
    found: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        if (here := ahead.pop()) not in found:
            found.add(here)
            ahead += graph[here]
    return found
