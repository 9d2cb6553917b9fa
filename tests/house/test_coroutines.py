"""Coroutines are written only where requests are driven: all else yields."""

import ast

from tests.house.layout import FILES, ROOT, nodes, place

#: what performs requests, and the doors to packages that are asynchronous themselves
DRIVERS = ("runtime/", "llm/", "hosts/", "core/requests.py")

#: what is not yet as it should be; each line is to go
EXCEPTIONS = {
    "memories/episodic.py",
    "memories/host/memory_module.py",
    "memories/host/recalls.py",
}


def coroutines(path):
    return [n.name for n in nodes(path) if isinstance(n, ast.AsyncFunctionDef)]


def test_coroutines_are_written_only_where_drivers_are():
    found = {
        place(path): coroutines(path)
        for path in FILES
        if not place(path).startswith(DRIVERS) and place(path) not in EXCEPTIONS
    }
    assert {file: names for file, names in found.items() if names} == {}


def test_no_exception_is_stale():
    stale = [
        file
        for file in sorted(EXCEPTIONS)
        if not (ROOT / file).exists() or not coroutines(ROOT / file)
    ]
    assert stale == [], "no longer needed"
