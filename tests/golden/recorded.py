"""What a recorded run says, as rows of plain data that can be compared.

    python -m tests.golden.recorded          writes tests/data/golden anew
    python -m tests.golden.recorded NAME …   only these

Left out: what a clock has measured, versions, and keys of shared answers, in which the
server's port counts.
"""

import gzip
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden import worlds

DATA = Path(__file__).parent.parent / "data" / "golden"

#: table -> columns; those of them that hold JSON are compared as data
COLUMNS = {
    "agents": "agent unique_id class memory layers",
    "records": "id agent layer kind step text content importance subject sources "
    "valid_from valid_to closed_because superseded_by graded_at origin",
    "recalls": "step agent layer purpose query scoring candidates",
    "prompts": "step agent layer section text",
    "calls": "step agent purpose occurrence model prompt prompt_hash reply "
    "tokens_in tokens_out attempts error finish",
    "answers": "step value",
    "steps": "step records recalls calls",
}
#: by what rows are sorted, where it is not the order of writing
ORDER = {"agents": "agent", "steps": "step", "answers": "step, value"}
JSON = {"unique_id", "layers", "content", "subject", "sources", "scoring"}
JSON |= {"candidates", "prompt", "value"}

#: name -> what records it in a file
RUNS: dict[str, Callable[[Path], None]] = {
    f"village_{memory}_{means}": partial(worlds.village, memory, means)
    for memory in worlds.MEMORIES
    for means in worlds.MEANS
} | {f"example_{memory}": partial(worlds.example, memory) for memory in worlds.EXAMPLE}


def rows(file: Path) -> list[list[Any]]:
    """All rows of a run, each with its table's name first, in the order of writing."""
    found = []
    with sqlite3.connect(file) as on:
        for table, names in COLUMNS.items():
            columns = names.split()
            order = ORDER.get(table, "seq")
            query = f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"
            for row in on.execute(query):
                found.append([table, *map(_plain, columns, row)])
    return found


def _plain(column: str, value: Any) -> Any:
    is_json = column in JSON and isinstance(value, str)
    return json.loads(value) if is_json else value


def record(name: str) -> list[str]:
    """Lives through a run; its rows, a line each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.sqlite"
        RUNS[name](file)
        return [json.dumps(row, ensure_ascii=False) for row in rows(file)]


def golden(name: str) -> list[str]:
    """The rows as they were written down."""
    text = gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()).decode()
    return text.splitlines()


def write(name: str) -> None:
    """Writes a run down; the same rows give the same bytes."""
    text = "\n".join(record(name)) + "\n"
    packed = gzip.compress(text.encode(), mtime=0)
    (DATA / f"{name}.jsonl.gz").write_bytes(packed)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or RUNS:
        write(chosen)
