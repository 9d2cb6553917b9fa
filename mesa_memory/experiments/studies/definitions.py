"""The code of a file by definition, without what does not run.

Comments, docstrings and layout are left out. Docstrings that a language model reads are
kept: those of tools, and of pydantic models, whose schema has them. Left out are also
the levels, seeds and steps of a study, which are in each run's parameters, and what only
the program itself runs: the statements under ``if __name__ == "__main__"``.
"""

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

#: the part of a file that is not Python, and of statements outside of definitions
NOT_PYTHON, TOP_LEVEL = "it is not valid Python", "top level"
#: arguments of a study that are in each run's parameters, or do not change a run
STUDY_ARGUMENTS = ("seeds", "steps", "replicates", "store", "name")
#: the condition of statements that workers do not run, and which of them count
PROGRAM = "__name__ == '__main__'"
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign)
#: definitions that a message names
MAX_LISTED_NAMES = 8


@lru_cache(1000)
def definitions(text: str) -> dict[str, str]:
    """The code of each function, class and constant in a file, by name.

    A method is called ``Town.step``. Its class has only the name in its place, and so
    has ``TOP_LEVEL``, the remaining statements.
    """
    try:
        tree = _Running().visit(ast.parse(text))
        found: dict[str, list[str]] = {}
        _collect(tree, TOP_LEVEL, "", found)
    except (SyntaxError, ValueError, RecursionError):
        return {NOT_PYTHON: text}
    return {name: "\n".join(parts) for name, parts in found.items()}


def changed_names(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The names of the definitions that differ, those of today first."""
    if NOT_PYTHON in now:
        return NOT_PYTHON
    names = [n for n in {**now, **before} if before.get(n) != now.get(n)]
    told = names[:MAX_LISTED_NAMES]
    if len(names) > len(told):
        told.append(f"{len(names) - len(told)} more")
    return ", ".join(told)


class _Running(ast.NodeTransformer):
    """Removes what does not run in a worker, or is in each run's parameters."""

    def visit(self, node: Any) -> Any:
        read = [node.body[0]] if _is_read(node) else []
        program = isinstance(node, ast.If) and ast.unparse(node.test) == PROGRAM
        if program:
            node.body = [each for each in node.body if isinstance(each, DEFINITIONS)]
        if program or isinstance(node, ast.Module):
            for each in node.body:
                _remove_design(each)
        self.generic_visit(node)
        if read:
            node.body[:0] = read
        return None if _is_text(node) else node


def _is_read(node: Any) -> bool:
    """True for a definition whose docstring a language model reads."""
    if isinstance(node, ast.ClassDef):
        marks, word = node.bases, "BaseModel"
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        marks, word = node.decorator_list, "tool"
    else:
        return False
    return _is_text(node.body[0]) and any(word in ast.unparse(each) for each in marks)


def _remove_design(node: ast.stmt) -> None:
    """Removes what is not code from ``study = Study(…)``."""
    call = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(call, ast.Call):
        return
    if ast.unparse(call.func).rpartition(".")[2] == "Study":
        call.args = [*call.args[:1], *filter(_is_code, call.args[1:])]
        call.keywords = [
            each
            for each in call.keywords
            if each.arg not in STUDY_ARGUMENTS
            and (each.arg != "factors" or _is_code(each.value))
        ]


def _is_code(factors: ast.expr) -> bool:
    """True if a value of a factor has another label than itself."""
    nodes = list(ast.walk(factors))
    inner = [
        each for node in nodes if isinstance(node, ast.Dict) for each in node.values
    ]
    return any(isinstance(each, ast.Lambda | ast.Call) for each in nodes) or any(
        isinstance(each, ast.Dict) for each in inner
    )


def _is_text(node: Any) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _collect(node: Any, name: str, prefix: str, found: dict[str, list[str]]) -> None:
    """Adds the code of a module or class under its name, and the code inside it."""
    own = found.setdefault(name, [])
    body, node.body = node.body, []
    own.append(ast.unparse(node))
    for each in body:
        inner = _name_of(each)
        if inner is None:
            own.append(ast.unparse(each))
            continue
        own.append(inner)
        if isinstance(each, ast.ClassDef):
            _collect(each, prefix + inner, f"{prefix}{inner}.", found)
        else:
            found.setdefault(prefix + inner, []).append(ast.unparse(each))


def _name_of(node: ast.stmt) -> str | None:
    """The name of a function, class or variable; None for any other statement."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) == 1 and isinstance(targets[0], ast.Name):
            return targets[0].id
    return None
