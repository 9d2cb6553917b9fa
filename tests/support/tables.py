"""The rows of a recorded run, for comparison with those of another one."""

import sqlite3
from pathlib import Path
from typing import Any

from mesa_memory.stores.schema import PROBES, UNREPEATABLE

TABLES = ("records", "recalls", "prompts", "calls", "steps")


def tables(file: str | Path, run: int = 1, ignore: tuple = ()) -> dict[str, list]:
    """Rows by table, in order; without what may differ between equal runs."""
    unequal = {"run", *UNREPEATABLE, *ignore}
    with sqlite3.connect(file) as on:
        return {name: _rows(on, name, run, unequal) for name in TABLES}


def _rows(on: Any, name: str, run: int, unequal: set) -> list[dict]:
    found = on.execute(f"SELECT * FROM {name} WHERE run = ? ORDER BY seq", (run,))
    columns = [column[0] for column in found.description]
    return [
        {key: value for key, value in zip(columns, row) if key not in unequal}
        for row in found
    ]


def whole(file: str | Path) -> dict[str, list[dict]]:
    """All rows of all tables of a store in a file, by table."""
    with sqlite3.connect(file) as on:
        on.row_factory = sqlite3.Row
        return {
            n: [dict(r) for r in on.execute(f"SELECT * FROM {n}")] for n in names(on)
        }


def without_clocks(found: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """The rows of ``whole`` without the columns in which equal runs differ."""
    return {
        name: [{k: v for k, v in row.items() if k not in UNREPEATABLE} for row in rows]
        for name, rows in found.items()
    }


def without_probes(file: str | Path) -> tuple[dict[str, list[dict]], list[dict]]:
    """All rows without clocks and a researcher's questions; and the calls of these."""
    found = whole(file)
    probes = [row for row in found["calls"] if row["seq"] > PROBES]
    assert all(row["purpose"] == "probe" for row in probes)
    found["calls"] = [row for row in found["calls"] if row["seq"] <= PROBES]
    del found["prompt_files"]  # a probe's are among them
    return without_clocks(found), probes


def names(on: sqlite3.Connection) -> list[str]:
    """The tables of a file, but SQLite's own."""
    query = (
        "SELECT name FROM sqlite_master "
        "WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    )
    return [name for (name,) in on.execute(query)]


def assert_equal(one: dict[str, list], other: dict[str, list]) -> None:
    """The runs are the same, row by row."""
    for name, rows in one.items():
        assert len(rows) == len(other[name]), name
        for left, right in zip(rows, other[name]):
            different = {k: (left[k], right[k]) for k in left if left[k] != right[k]}
            assert not different, (name, left.get("agent"), left["step"], different)
