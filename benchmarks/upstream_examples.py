"""Three examples of Mesa-LLM 0.3.2, with its memory and with the one of this package.

    python -m benchmarks.upstream_examples FOLDER

FOLDER is Mesa-LLM's unpacked source distribution, whose ``examples`` are read and changed
in a copy: the import of the memory, and in the negotiation the function that reads the
dialogue out of a memory's entries. Lines are the statements of ``agents.py``. Calls and
tokens are those of all agents in eight steps, of the same policy in place of a language
model: it speaks to the first agent in sight. Tokens are estimated, as in every ledger.
"""

import argparse
import ast
import contextlib
import importlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from mesa_llm.reasoning.react import ReActReasoning

from benchmarks.tables import show
from mesa_memory import Services, configure, register_policy
from mesa_memory.llm import ToolCall

STEPS = 8
#: of each example its model and the numbers of its agents
EXAMPLES: dict[str, tuple[str, tuple[int, ...]]] = {
    "negotiation": ("NegotiationModel", (4, 5, 5)),
    "epstein_civil_violence": ("EpsteinModel", (2, 6, 5, 5)),
    "sugarscrap_g1mt": ("SugarScapeModel", (6, 4, 5, 5)),
}
THEIRS = "from mesa_llm.memory.st_lt_memory import STLTMemory"
OURS = "from mesa_memory import STLTMemory"


def changed(source: str) -> str:
    """The source of ``agents.py`` with the memory of this package."""
    if THEIRS in source:
        return source.replace(THEIRS, OURS)
    reader = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
    lines = source.splitlines()
    lines[reader.lineno - 1 : reader.end_lineno] = []
    text = "\n".join([OURS, *lines])
    read = 'self.memory.get_communication_history() or "No recent dialogue."'
    text = text.replace("get_dialogue_history(self)", read)
    manager = r"( +)(self\.tool_manager = \w+)"
    return re.sub(manager, r"\1\2\n\1self.memory = STLTMemory(self)", text)


def code_lines(source: str) -> int:
    """Lines of a source without comments and docstrings, one for each statement."""
    bare = ast.parse(source)
    for node in ast.walk(bare):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    return sum(bool(line.strip()) for line in ast.unparse(bare).splitlines())


def decide(turn: Any) -> Any:
    """Speaks to the first agent in sight, where it may."""
    sight = re.search(
        r"'(?:\w+Agent|Citizen|Cop|Trader) (\d+)'", turn.system + turn.prompt
    )
    if "speak_to" in turn.tools and sight:
        said = {"message": "What do you offer me, and for how much?"}
        who = {"listener_agents_unique_ids": [int(sight[1])]}
        return [ToolCall("speak_to", {**who, **said})]
    return "I look around, and decide to wait for an offer."


def lived(folder: Path, name: str) -> Any:
    """The calls and tokens of an example in a folder of examples."""
    for module in [m for m in sys.modules if m.partition(".")[0] == "examples"]:
        del sys.modules[module]
    package = sys.modules["examples"] = ModuleType("examples")
    package.__path__ = [str(folder)]
    kind, sizes = EXAMPLES[name]
    importlib.import_module(f"examples.{name}.tools")
    module = importlib.import_module(f"examples.{name}.model")
    llm = register_policy("example", decide)
    with contextlib.redirect_stdout(io.StringIO()):
        model = getattr(module, kind)(*sizes, ReActReasoning, llm, 5, seed=1)
        configure(model)
        for _ in range(STEPS):
            model.step()
        Services.of(model).flush()
    return Services.of(model).ledger.total


def measure(source: Path, name: str) -> list[dict[str, Any]]:
    """One example before and after."""
    rows = []
    for which in ("before", "after"):
        with tempfile.TemporaryDirectory() as place:
            target = Path(place) / name
            target.mkdir()
            for file in (source / name).glob("*.py"):
                text = file.read_text(encoding="utf-8")
                if which == "after" and file.name == "agents.py":
                    text = changed(text)
                (target / file.name).write_text(text, encoding="utf-8")
            used = lived(Path(place), name)
            lines = code_lines((target / "agents.py").read_text(encoding="utf-8"))
        row = {"example": name, "memory": which, "lines": lines}
        rows.append({**row, "calls": used.calls, "tokens": used.tokens})
    return rows


def main() -> None:
    """Measures and shows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    source = (parser.parse_args().folder / "examples").resolve()
    os.chdir(tempfile.mkdtemp())  # two of the examples record by themselves
    rows = [row for name in EXAMPLES for row in measure(source, name)]
    show(f"Examples of Mesa-LLM, {STEPS} steps", rows)


if __name__ == "__main__":
    main()
