"""Coroutines are written only where requests are driven: all else yields."""

import ast

import pytest

from tests.house.layout import FILES, ROOT, nodes, place

#: what performs requests, and the doors to packages that are asynchronous themselves
DRIVERS = ("runtime/", "llm/", "hosts/", "core/requests.py")

#: what is not yet as it should be; each line is to go
EXCEPTIONS = {
    "memories/episodic.py",
    "memories/host.py",
    "memories/recallable.py",
    "memories/recalls.py",
}


def coroutines(path):
    return [n.name for n in nodes(path) if isinstance(n, ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", FILES, ids=place)
def test_coroutines_are_written_only_where_drivers_are(path):
    here = place(path)
    if not here.startswith(DRIVERS) and here not in EXCEPTIONS:
        assert coroutines(path) == []


def test_no_exception_is_stale():
    stale = [
        file
        for file in sorted(EXCEPTIONS)
        if not (ROOT / file).exists() or not coroutines(ROOT / file)
    ]
    assert stale == [], "no longer needed"
