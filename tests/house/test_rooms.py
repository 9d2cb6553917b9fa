"""Who may import whom: judged room by room, also through other rooms."""

import pytest

from tests.house.layout import ROOMS, ROOT, TOP, arrows, place, reach, rooms_of

#: rooms with no I/O, lowest first
PURE = ("core", "retrieval", "tasks")
BACKENDS = {"llm", "embedders", "stores"}
#: imported by nobody inside
EDGE = {"cli", "viz", "examples", "interventions", "metrics", "testing"}
#: what plans and makes many runs is known by those at the edge alone
STUDY = {"experiments"}
MOST_NAMES = 20
LONGEST_CHAIN = 10

#: room -> the rooms that it must not reach, not even through another one
FORBIDDEN = {
    "core": ROOMS - {"core", "errors"},
    "retrieval": ROOMS - {"core", "errors", "retrieval"},
    "tasks": ROOMS - {*PURE, "errors"},
    "stores": ROOMS - {*PURE, "errors", "stores"},
    "embedders": ROOMS - {*PURE, "errors", "embedders", "hosts"},
    "llm": ROOMS - {*PURE, "errors", "llm", "hosts"},
    "hosts": BACKENDS | EDGE | STUDY,
    "layers": ROOMS - {*PURE, "errors", "layers", "hosts"},
    "memories": BACKENDS | EDGE | STUDY | {"runtime", "recording", "runs"},
    "runtime": EDGE | STUDY | {"memories", "recording", "runs"},
    "recording": EDGE | STUDY | {"runs"},
    "runs": ROOMS - {*PURE, "errors", "stores", "embedders", "hosts"},
    "statistics": ROOMS - {"core", "errors", "statistics"},
    "experiments": EDGE,
    "viz": {"cli", "examples"},
}

#: (file, room it imports): what is not yet as it should be; each line is to go
EXCEPTIONS = {("memories/host/memory_module.py", "runtime")}


@pytest.mark.parametrize("room", sorted(FORBIDDEN))
def test_no_room_reaches_what_it_must_not_know(room):
    graph = arrows(EXCEPTIONS)
    found = reach(graph, room) & (FORBIDDEN[room] - {room}) if room in graph else set()
    assert not found, f"{room} reaches {sorted(found)}: {_ways(graph, room, found)}"


def _ways(graph, room, found):
    """Through which rooms, for the message."""
    return {
        there: sorted(n for n in graph[room] if n == there or there in reach(graph, n))
        for there in sorted(found)
    }


def test_each_room_has_a_rule_or_is_at_the_edge():
    known = set(FORBIDDEN) | EDGE | {"errors"}
    assert known >= ROOMS, f"no rule for {sorted(ROOMS - known)}"


def test_no_rooms_import_each_other_in_a_circle():
    graph = arrows(EXCEPTIONS)
    assert [room for room in sorted(graph) if room in reach(graph, room)] == []


def test_no_chain_of_imports_is_longer_than_ten_rooms():
    graph = arrows(EXCEPTIONS)

    def longest(room):
        return 1 + max(map(longest, sorted(graph[room])), default=0)

    assert max(map(longest, graph)) <= LONGEST_CHAIN


def test_the_top_of_the_package_can_be_taken_in_at_once():
    assert len(TOP) <= MOST_NAMES, sorted(TOP)


def test_no_exception_is_stale():
    stale = [
        (file, there)
        for file, there in sorted(EXCEPTIONS)
        if not (ROOT / file).exists() or there not in rooms_of(ROOT / file)
    ]
    assert stale == [], "no longer needed"
    assert all(place(ROOT / file) == file for file, _ in EXCEPTIONS)
