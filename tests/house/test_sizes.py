"""Files and functions can be read at one go."""

import ast
from collections import Counter

from tests.house.layout import FILES, nodes, place

LONGEST_FILE = 600
MOST_FILES = 20
#: lines of a function without its docstring
LONGEST_FUNCTION = 49


def test_files_and_functions_fit_a_screen():
    found = [
        f"{place(path)}: {lines} lines"
        for path in FILES
        if (lines := _lines(path)) > LONGEST_FILE
    ]
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                said = (ast.get_docstring(node, clean=False) or "").count("\n")
                if node.end_lineno - node.lineno - said > LONGEST_FUNCTION:
                    found.append(f"{place(path)}: {node.name}")
    assert found == []


def test_no_folder_has_more_than_twenty_files():
    counts = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert {place(d): n for d, n in counts.items() if n > MOST_FILES} == {}


def _lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())
