"""Coroutines are written only where requests are driven: all else yields."""

import ast

from tests.house.layout import FILES, nodes, place

#: what performs requests, and the doors to packages that are asynchronous themselves
DRIVERS = ("runtime/", "llm/", "hosts/", "core/requests.py")

#: what is not yet as it should be; each line is to go
EXCEPTIONS = {
    "memories/episodic.py",
    "memories/host/memory_module.py",
    "memories/host/recalls.py",
}


def has_coroutines(path):
    return any(isinstance(node, ast.AsyncFunctionDef) for node in nodes(path))


def test_coroutines_are_written_only_where_drivers_are():
    found = {place(path) for path in FILES if has_coroutines(path)}
    assert {file for file in found if not file.startswith(DRIVERS)} == EXCEPTIONS
