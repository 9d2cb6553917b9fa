"""A local name never hides a function of its own module."""

import ast

from tests.house.layout import FILES, place

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_no_local_name_hides_a_function_of_its_module():
    """A value that is meant is never a function, which fails far away."""
    found = [
        (place(path), node.lineno, name)
        for path in FILES
        for node, functions in _functions(path)
        for name in local_names(node) & functions
    ]
    assert found == []


def _functions(path):
    """Each function of a file, with the names of those at its top."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {node.name for node in tree.body if isinstance(node, FUNCTIONS)}
    return [(node, top) for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def local_names(function):
    """The names that a function assigns, itself or in one inside it; not arguments."""
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
