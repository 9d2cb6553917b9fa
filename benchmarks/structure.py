"""How large the package is, and how far one step of an agent runs through it.

    python -m benchmarks.structure [--json] [--trace] [--ids] [--path]

- *lines of code*: lines of ``mesa_memory`` that hold code: not blank, no comment and no
  docstring, by folder.
- *lines of tests, lines of benchmarks*: lines of ``*.py`` that are not blank.
- *test ids*: tests that pytest collects by default (``--ids``, a minute).
- *words of docs*: words of ``docs/**/*.md``, split at white space.
- *public names*: ``mesa_memory.__all__``.
- *class names used twice*: classes at the top of two modules or more, by name.
- *circles of imports*: groups of modules that import each other, directly or through
  others. Imports in functions and under ``TYPE_CHECKING`` count.
- *crowded folders*: folders with more than 20 modules of their own, without
  ``__init__.py``.
- *one step*: ``model.step()`` with one agent that has an ``EpisodicMemory`` and a
  ``ScriptedLLM`` that grades, in the third step, executed blocking. Mesa-LLM calls
  ``process_step`` before and after the agent's ``step``, in which ``add_to_memory`` gets
  one message; then the agent recalls three records, or does not. *Files* are those of the
  package of which a function is entered, in any thread; *changes* counts how often the
  function entered next in a thread, resumed generators included, is of another file than
  the one before. Functions of other packages are passed over. *Recorded* is the same step
  with ``configure(record=…)``, up to the commit of its rows.
"""

import argparse
import ast
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")  # Mesa-LLM wants one for each agent

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

import mesa_memory
from mesa_memory import EpisodicMemory, ScriptedLLM, Services, configure

PACKAGE = Path(mesa_memory.__file__).parent
PROJECT = PACKAGE.parent
MAX_MODULES = 20
WARM_UP_STEPS = 2
#: tables of the report that are counted
LISTS = ("class names used twice", "crowded folders")
#: tokens of a file that are no code
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip

type Graph = dict[str, set[str]]


def modules() -> dict[str, ast.Module]:
    """The syntax tree of each module, by its name without ``mesa_memory.``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


# -- sizes ----------------------------------------------------------------------------


def lines_of_code(path: Path) -> int:
    """Lines of a file that hold code."""
    with path.open("rb") as file:
        code = {
            line
            for token in tokenize.tokenize(file.readline)
            if token.type not in NOT_CODE and token.type != tokenize.ENCODING
            for line in range(token.start[0], token.end[0] + 1)
        }
    return len(code - _docstring_lines(ast.parse(path.read_text(encoding="utf-8"))))


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            )
            and ast.get_docstring(node) is not None
        ):
            first = node.body[0]
            found |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return found


def code_by_folder() -> dict[str, int]:
    """Lines of code of the package by folder, the largest first."""
    found: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        found[path.parent.relative_to(PROJECT).as_posix()] += lines_of_code(path)
    return dict(found.most_common())


def lines_of(folder: str) -> int:
    """Lines of Python below a folder of the project that are not blank."""
    files = (PROJECT / folder).rglob("*.py")
    texts = (path.read_text(encoding="utf-8") for path in files)
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def words_of_docs() -> int:
    """Words of the pages below ``docs``."""
    pages = [p for p in (PROJECT / "docs").rglob("*.md") if "_build" not in p.parts]
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_ids() -> int:
    """How many tests pytest collects by default."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n", "0"]
    told = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    counts = [line.rpartition(": ")[2] for line in told.splitlines()]
    return sum(int(count) for count in counts if count.isdecimal())


def crowded_folders() -> dict[str, int]:
    """Folders with more than ``MAX_MODULES`` modules of their own."""
    paths = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    counts = Counter(path.parent.relative_to(PROJECT).as_posix() for path in paths)
    return {folder: n for folder, n in sorted(counts.items()) if n > MAX_MODULES}


# -- names and imports ----------------------------------------------------------------


def repeated_classes(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """The modules of each class name that more than one module has at its top."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


def imports(trees: dict[str, ast.Module]) -> Graph:
    """The modules of the package that each module imports, late or for types too."""
    found: Graph = {}
    for module, tree in trees.items():
        wanted = {name for node in ast.walk(tree) for name in _imported(node)}
        found[module] = {name for name in wanted if name in trees} - {module, ""}
    return found


def _imported(node: ast.AST) -> Iterator[str]:
    """Names that an import statement may load, without ``mesa_memory.``."""
    head = f"{PACKAGE.name}."
    if isinstance(node, ast.Import):
        yield from (alias.name.removeprefix(head) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        if node.module != PACKAGE.name:
            yield node.module.removeprefix(head)
        for alias in node.names:
            yield f"{node.module}.{alias.name}".removeprefix(head)


def circles(graph: Graph) -> list[list[str]]:
    """Groups of nodes that reach each other, each sorted."""
    reach = {node: reached(graph, node) for node in graph}
    groups = {
        tuple(sorted(other for other in reach[node] if node in reach[other]))
        for node in graph
        if node in reach[node]
    }
    return [list(group) for group in sorted(groups)]


def reached(graph: Graph, start: str) -> set[str]:
    """The nodes that one or more arrows lead to."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for node in graph[ahead.pop()] - found:
            found.add(node)
            ahead.append(node)
    return found


# -- one step -------------------------------------------------------------------------


class Listener(LLMAgent):
    """Hears one message in each step and may recall something."""

    recalls = True

    def step(self) -> None:
        """One message, and a recall."""
        text = f"The bridge broke on day {self.model.steps}."
        content = {"message": text, "sender": 7, "recipients": [self.unique_id]}
        self.memory.add_to_memory("message", content)
        if self.recalls:
            self.memory.recall("the bridge", k=3)


class Street(mesa.Model):
    """A model of one listener."""

    def __init__(self, recalls: bool, record: str | None) -> None:
        super().__init__(rng=1)
        grades = ScriptedLLM(rules={"grade": lambda r: [3 for _ in r.inputs["events"]]})
        configure(self, llm=grades, execution="blocking", record=record)
        self.listener = Listener(self, CoTReasoning, "openai/test")
        self.listener.memory = EpisodicMemory(self.listener, grade_together=1)
        self.listener.recalls = recalls

    def step(self) -> None:
        """The listener's step."""
        self.listener.step()


def entered(recalls: bool = True, recorded: bool = False) -> list[tuple[str, str]]:
    """(file, function) of each function that one step enters, thread by thread."""
    with tempfile.TemporaryDirectory() as folder:
        model = Street(recalls, str(Path(folder) / "run.sqlite") if recorded else None)
        services = Services.of(model)

        def step() -> None:
            model.step()
            if services.recorder:
                services.flush()

        for _ in range(WARM_UP_STEPS):
            step()
        found = traced(step)
        records = model.listener.memory.current_records()
        if services.recorder:
            services.recorder.close()
    graded = [each.importance for each in records if each.step == model.steps]
    assert graded == [3], "the model graded the event"
    return found


def traced(work: Callable[[], None], here: bool = False) -> list[tuple[str, str]]:
    """(file, function) of each function of the package that is entered, by thread.

    Args:
        here: leave out what other threads do.
    """
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    start = len(str(PACKAGE)) + 1

    def note(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(PACKAGE)):
            entry = (name[start:], frame.f_code.co_qualname)
            found[threading.get_ident()].append(entry)

    # What is collected meanwhile would call the finalizers of earlier models.
    gc.collect()
    gc.disable()
    threading.setprofile_all_threads(note)
    try:
        work()
    finally:
        threading.setprofile_all_threads(None)
        gc.enable()
    if here:
        return found[threading.get_ident()]
    return [entry for thread in found.values() for entry in thread]


def step_size(**kind: bool) -> dict[str, int]:
    """Files, changes of file and functions of one step."""
    files = [file for file, _ in entered(**kind)]
    changes = sum(one != other for one, other in pairwise(files))
    return {"files": len(set(files)), "changes": changes, "functions": len(files)}


def path() -> str:
    """The path of an event and of a recall, as CONTRIBUTING.md has it."""
    event = entered(recalls=False)
    ways = {
        "The path of an event": (event, "One message to an `EpisodicMemory`"),
        "A recorded run goes on": (
            entered(recalls=False, recorded=True),
            "Besides, with `configure(record=…)`",
        ),
        "The path of a recall": (entered(), "Besides, with `recall(query)`"),
    }
    told: set[str] = set()
    lines = []
    for title, (calls, about) in ways.items():
        files = [f for f in dict.fromkeys(file for file, _ in calls) if f not in told]
        told.update(files)
        lines += [f"## {title}", "", f"{about}, by first entry:", ""]
        lines += [f"{n}. `{file}`: {_about(file)}" for n, file in enumerate(files, 1)]
        lines.append("")
    return "\n".join(lines)


def _about(file: str) -> str:
    """The first line of a module's docstring."""
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


# -- the report -----------------------------------------------------------------------


def measure(ids: bool = False) -> dict[str, Any]:
    """All numbers, by name."""
    trees, code = modules(), code_by_folder()
    return {
        "lines of code": sum(code.values()),
        "lines of code by folder": code,
        "lines of tests": lines_of("tests"),
        **({"test ids": test_ids()} if ids else {}),
        "lines of benchmarks": lines_of("benchmarks"),
        "words of docs": words_of_docs(),
        "public names": len(mesa_memory.__all__),
        "class names used twice": repeated_classes(trees),
        "circles of imports": circles(imports(trees)),
        "crowded folders": crowded_folders(),
        "one step": step_size(recalls=False),
        "one step with a recall": step_size(),
        "one step with a recall, recorded": step_size(recorded=True),
    }


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description="How large the package is.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ids", action="store_true", help="count the tests, too")
    parser.add_argument("--trace", action="store_true", help="the way of a step")
    parser.add_argument("--path", action="store_true", help="as CONTRIBUTING.md has it")
    given = parser.parse_args()
    if given.path:
        print(path())
        return
    found = measure(given.ids)
    if given.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        if isinstance(value, dict):
            print(f"{name}: {len(value)}" if name in LISTS else f"{name}:")
            for key, each in value.items():
                print("   ", key, *(each if isinstance(each, list) else [each]))
        elif isinstance(value, list):
            print(f"{name}: {len(value)}")
            for each in value:
                print("   ", *each)
        else:
            print(f"{name}: {value}")
    if given.trace:
        last = ""
        for file, function in entered():
            print(("" if file == last else file).ljust(34), function)
            last = file


if __name__ == "__main__":
    main()
