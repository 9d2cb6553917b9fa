"""The code of a file by definition, without what does not run.

Comments, docstrings and layout are left out. Docstrings that a language model reads are
kept: those of tools, and of pydantic models, whose schema has them.
"""

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

#: the part of a file that is not Python, and of statements outside of definitions
NOT_PYTHON, TOP_LEVEL = "it is not valid Python", "top level"
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
    """Removes texts that stand alone, except for docstrings that a model reads."""

    def visit(self, node: Any) -> Any:
        read = [node.body[0]] if _is_read(node) else []
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
