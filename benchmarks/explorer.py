"""How long the questions to a big recorded run take.

    python -m benchmarks.explorer [--agents 1000] [--steps 1000] [--file PATH] [--json]

Makes a SQLite file of that size (1,000 agents x 1,000 steps: 3.2 million records, 4.6
GB, some minutes) unless there is one at PATH. Each question is asked of one agent after
the other, so that the database itself has to look for the answer; the file may be in the
operating system's memory. ``--cold`` has the system forget it before each question.
"""

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.big_run import EVERY, LAYER, arguments, big_file
from mesa_memory.runs import Run, open_run

#: each question must be answered within, in milliseconds
LIMIT = 200
QUERY = "Who poisoned the well in ward 3?"


def questions(run: Run) -> dict[str, Callable[[int, int], Any]]:
    """What is asked, of an agent and a step."""

    def summary(agent: int, step: int) -> str:
        return f"{agent}/{LAYER}/summary/{max(1, step // EVERY)}"

    return {
        "agents()": lambda agent, step: run.agents(),
        "state(agent, step)": run.state,
        "state(agent)": lambda agent, step: run.state(agent),
        "history(record)": lambda agent, step: run.history(summary(agent, step)),
        "history(agent=)": lambda agent, step: run.history(agent=agent),
        "because(record)": lambda agent, step: run.provenance(summary(agent, step)),
        "recalls(agent, step)": run.recalls,
        "recalls(agent)": lambda agent, step: run.recalls(agent),
        "prompt(agent, step)": run.prompt,
        "calls(agent)": lambda agent, step: run.calls(agent),
        "search(text, agent=)": lambda agent, step: run.search(QUERY, agent),
    }


def forget(path: Path) -> None:
    """Has the operating system forget the file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


Took = list[tuple[float, float]]


def measure(path: Path, agents: int, times: int, cold: bool) -> dict[str, Took]:
    """Milliseconds of each question, asked so many times: by the clock, of processor."""
    found: dict[str, Took] = {}
    with open_run(path) as run:
        steps = run.steps
        run.search(QUERY, 0)  # loads the embedder and pandas
        for name, ask in questions(run).items():
            took = found.setdefault(name, [])
            for turn in range(times):
                # Apart from each other, so that nothing is near to what was read.
                agent = (agents // times * turn + 7) % agents
                step = int(steps[len(steps) * (turn + 1) // times - 1])
                if cold:
                    forget(path)
                took.append(timed(lambda: ask(agent, step)))  # noqa: B023 - at once
    return found


def across(path: Path) -> Took:
    """The same for a search over all records."""
    with open_run(path) as run:
        run.search(QUERY, 0)
        return [timed(lambda: run.search(QUERY))]


def timed(ask: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds by the clock, and of processor, which other programs do not delay."""
    wall, processor = time.perf_counter(), time.process_time()
    ask()
    return (
        1000 * (time.perf_counter() - wall),
        1000 * (time.process_time() - processor),
    )


def report(found: dict[str, Took], title: str) -> Table:
    """The times as a table."""
    table = Table("question", "median ms", "worst ms", "processor ms", title=title)
    for name, took in found.items():
        wall, processor = zip(*took)
        times = (statistics.median(wall), max(wall), statistics.median(processor))
        table.add_row(name, *(f"{value:.1f}" for value in times))
    return table


def main() -> None:
    """Makes the file, asks, and shows how long it took."""
    parser = arguments(__doc__, agents=1000, steps=1000)
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--search-all", action="store_true")
    given = parser.parse_args()
    with big_file(given) as path:
        found = measure(path, given.agents, given.times, given.cold)
        if given.search_all:
            found["search(text)"] = across(path)
    if given.json:
        print(json.dumps({"limit_ms": LIMIT, "milliseconds": found}))
    else:
        size = f"{given.agents} agents x {given.steps} steps"
        Console().print(report(found, f"{size}; limit {LIMIT} ms each"))


if __name__ == "__main__":
    main()
