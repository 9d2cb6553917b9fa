"""How the package is built: rooms, circles of imports, inheritance, private names, and how
far one event runs.

    python -m benchmarks.structure [--json] [--trace]

What is counted:

- *names at the top*: files and folders with code directly in ``mesa_memory/``, without
  ``__init__.py``. Each is a *room*.
- *circles of imports*: groups of modules that import each other, directly or through
  others, when they are loaded. Imports in functions and under ``TYPE_CHECKING`` do not
  count.
- *longest chain*: the most rooms in a row in which each imports the next; rooms that
  import each other count as one.
- *classes below Memory*: from Mesa-LLM's ``Memory``, not counted, to the class itself,
  along the longest line of inheritance.
- *private names reached for*: ``x._name``, ``self._name`` included, and ``import _name``
  in a file that does not define ``_name``, where another file of the package does.
- *one event*: an agent with an ``EpisodicMemory`` and a ``ScriptedLLM`` that grades is in
  its third step, executed blocking: ``process_step(pre_step=True)``, ``add_to_memory`` of
  one message, ``process_step()``. *Files* are those of the package of which a function
  is entered, and *changes* how often the function entered next, resumed generators
  included, is of another file than the one before. Functions of other packages, such
  as pydantic's, are passed over.
"""

import argparse
import ast
import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")  # Mesa-LLM wants one for each agent

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.memory import Memory
from mesa_llm.reasoning.cot import CoTReasoning

import mesa_memory
from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    ScriptedLLM,
    ShortTermMemory,
    STLTMemory,
    configure,
)

ROOT = Path(mesa_memory.__file__).parent
MEMORIES = (
    ShortTermMemory, STLTMemory, LongTermMemory, EpisodicMemory, ImpressionMemory,
)  # fmt: skip
#: methods of named tuples, whose names begin so that no field can have them
TUPLES = {"_replace", "_make", "_asdict", "_fields"}

type Graph = dict[str, set[str]]


def modules() -> dict[str, ast.Module]:
    """The syntax trees of all modules, by name without the package's."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(p for p in parts if p != "__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(trees: dict[str, ast.Module]) -> Graph:
    """Which modules each one imports when it is loaded."""
    found: Graph = {}
    for name, tree in trees.items():
        wanted = [f"{ROOT.name}.{each}" for each in trees]
        heads = {module for module in _imported(tree.body) if module in wanted}
        here = {module.removeprefix(f"{ROOT.name}.") for module in heads}
        found[name] = here - {name, ""}
    return found


def _imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _imported([*node.body, *node.orelse])
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from _imported(node.body)


def circles(graph: Graph) -> list[list[str]]:
    """Groups of nodes that reach each other, each sorted."""
    reach = {node: _reached(graph, node) for node in graph}
    groups = {
        tuple(sorted({node, *(n for n in reach[node] if node in reach[n])}))
        for node in graph
        if node in reach[node]
    }
    return [list(group) for group in sorted(groups)]


def _reached(graph: Graph, start: str) -> set[str]:
    """What can be reached in one or more arrows."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for node in graph[ahead.pop()] - found:
            found.add(node)
            ahead.append(node)
    return found


def rooms(graph: Graph) -> Graph:
    """The same arrows between the names at the top."""
    found: Graph = {}
    for module, wanted in graph.items():
        room = module.partition(".")[0]
        others = {name.partition(".")[0] for name in wanted}
        found.setdefault(room, set()).update(others - {room})
    found.pop("", None)
    return found


def chain(graph: Graph) -> list[str]:
    """The longest way along the arrows; those that form a circle are one stop."""
    group = {node: node for node in graph}
    for circle in circles(graph):
        group |= dict.fromkeys(circle, "+".join(circle))
    joined: Graph = {}
    for node, wanted in graph.items():
        others = {group[other] for other in wanted} - {group[node]}
        joined.setdefault(group[node], set()).update(others)
    known: dict[str, list[str]] = {}

    def longest(node: str) -> list[str]:
        if node not in known:
            ways = [longest(other) for other in sorted(joined[node])]
            known[node] = [node, *max(ways, key=len, default=[])]
        return known[node]

    return max((longest(node) for node in sorted(joined)), key=len)


def private_names(trees: dict[str, ast.Module]) -> list[tuple[str, int, str]]:
    """(module, line, name) of each private name that another module defines."""
    own = {name: _defined(tree) for name, tree in trees.items()}
    all_names = set().union(*own.values())
    return [
        (module, line, name)
        for module, tree in trees.items()
        for line, name in sorted(_reached_for(tree))
        if name in all_names - own[module] - TUPLES
    ]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _reached_for(tree: ast.Module) -> set[tuple[int, str]]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            found.add((node.lineno, node.attr))
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names if _is_private(alias.name)]
            found |= {(node.lineno, name) for name in names}
    return found


def _defined(tree: ast.Module) -> set[str]:
    """The private names that a file defines: by a statement, or on ``self``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # of __slots__
    return {name for name in found if _is_private(name)}


def below_memory(kind: type) -> int:
    """How many classes below Mesa-LLM's ``Memory`` a class stands."""
    if kind is Memory or not issubclass(kind, Memory):
        return 0
    return 1 + max(below_memory(base) for base in kind.__bases__)


class Listener(LLMAgent):
    """Hears one message in each step."""

    def hear(self) -> None:
        """One step of the memory."""
        self.memory.process_step(pre_step=True)
        text = f"The bridge broke on day {self.model.steps}."
        content = {"message": text, "sender": 7, "recipients": [self.unique_id]}
        self.memory.add_to_memory("message", content)
        self.memory.process_step()


def entered(warm: int = 2) -> list[tuple[str, str]]:
    """(file, function) of each function entered in a step with one event, in order.

    Args:
        warm: so many steps come before, in which caches are filled.
    """
    model = mesa.Model(rng=1)
    grades = ScriptedLLM(rules={"grade": lambda r: [3 for _ in r.inputs["events"]]})
    configure(model, llm=grades, execution="blocking")
    agent = Listener(model, CoTReasoning, "openai/test")
    agent.memory = EpisodicMemory(agent)
    for _ in range(warm):
        model.step()
        agent.hear()
    model.step()
    found: list[tuple[str, str]] = []
    start = len(str(ROOT)) + 1

    def note(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)):
            found.append((name[start:], frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        agent.hear()
    finally:
        sys.setprofile(before)
    (event,) = [r for r in agent.memory.current_records() if r.step == model.steps]
    assert event.importance == 3, "the event was graded by the model"
    return found


def measure() -> dict[str, Any]:
    """All numbers, by name."""
    trees = modules()
    graph = imports(trees)
    passed = [file for file, _ in entered()]
    top = [
        path
        for path in ROOT.iterdir()
        if path.name != "__init__.py"
        and (path.suffix == ".py" or any(path.glob("*.py")))
    ]
    return {
        "names_at_the_top": len(top),
        "circles_of_imports": circles(graph),
        "longest_chain": chain(rooms(graph)),
        "classes_below_memory": {m.__name__: below_memory(m) for m in MEMORIES},
        "private_names_reached_for": private_names(trees),
        "files_of_an_event": len(set(passed)),
        "changes_of_file": sum(a != b for a, b in pairwise(passed)),
        "functions_entered": len(passed),
    }


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description="How the package is built.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--trace", action="store_true", help="the way of the event")
    given = parser.parse_args()
    found = measure()
    if given.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        told = name.replace("_", " ")
        if isinstance(value, list):
            print(f"{told}: {len(value)}")
            for each in value:
                print("   ", *(each if isinstance(each, list | tuple) else [each]))
        else:
            print(f"{told}: {value}")
    if given.trace:
        last = ""
        for file, function in entered():
            print(("" if file == last else file).ljust(34), function)
            last = file


if __name__ == "__main__":
    main()
