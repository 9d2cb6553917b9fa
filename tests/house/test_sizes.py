"""Files and functions can be read at one go."""

import ast

import pytest

from tests.house.layout import FILES, nodes, place

LONGEST_FILE = 400
#: lines of a function without its docstring
LONGEST_FUNCTION = 49


@pytest.mark.parametrize("path", FILES, ids=place)
def test_files_and_functions_fit_a_screen(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = (ast.get_docstring(node, clean=False) or "").count("\n")
            assert node.end_lineno - node.lineno - said <= LONGEST_FUNCTION, node.name
