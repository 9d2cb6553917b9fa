"""What a study costs beside Mesa's ``batch_run``, and what its workers bring.

    python -m benchmarks.study [--part overhead,workers,waiting,many] [--json]

overhead   CPU seconds of a study, not recorded and recorded, in one process, as a share
           of those of Mesa's ``batch_run`` of the same runs. Limit: 1.05 without records.
workers    Runs in a second with two worker processes, as a multiple of one; without the
           seconds in which they load what they need. Limit: at least 1.7.
waiting    Seconds of four runs in threads of one process that asks a model of 50 ms, as a multiple
           of those of one run alone. Limit: 1.2.
many       1,000 short runs by processes and by Dask: the tables of one process, byte for
           byte, and no run twice.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mesa

from benchmarks.tables import show
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Processes, Study
from tests.support.server_process import ServerProcess
from tests.support.studied import PaidStreet, Street

TABLES = ("runs", "steps", "agents", "calls")
ROUNDS = 5
LIMITS = {"overhead": 1.05, "workers": 1.7, "waiting": 1.2}


def overhead() -> dict[str, Any]:
    """CPU seconds of the same runs, in turns; the median of the ratios."""
    given = {"memory": "episodic", "n_agents": 20}
    how = {"rng": [1, 2], "max_steps": 30, "display_progress": False}

    def studied(record: bool) -> None:
        with TemporaryDirectory() as folder:
            study = Study(RumorModel, given, seeds=[1, 2], steps=30, record=record,
                          store=Path(folder) / "study.sqlite")  # fmt: skip
            study.run("serial", progress=False)

    ways: dict[str, Callable[[], Any]] = {
        "mesa": lambda: mesa.batch_run(RumorModel, given, **how),
        "study": lambda: studied(record=False),
        "recorded": lambda: studied(record=True),
    }
    for way in ways.values():
        way()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            began = time.process_time()
            way()
            taken[name].append(time.process_time() - began)
    pairs = {n: [a / b for a, b in zip(taken[n], taken["mesa"])] for n in ways}
    return {
        "part": "overhead",
        "mesa s": round(statistics.median(taken["mesa"]), 2),
        "recorded": round(statistics.median(pairs["recorded"]), 3),
        "ratio": round(statistics.median(pairs["study"]), 3),
    }


def workers() -> dict[str, Any]:
    """Runs in a second, once the workers run, by one and by two."""
    rates = {}
    for count in (1, 2):
        with TemporaryDirectory() as folder:
            study = Study(RumorModel, {"memory": "episodic", "n_agents": 20},
                          seeds=range(16), steps=30, store=Path(folder) / "s.sqlite",
                          outcomes={"ended": ended})  # fmt: skip
            study.run(Processes(count), progress=False)
            ends = sorted(study.results().runs["ended"])
        # The first run of each worker pays for what it loads.
        rates[count] = (len(ends) - count) / (ends[-1] - ends[count - 1])
    return {
        "part": "workers",
        "one": round(rates[1], 2),
        "two": round(rates[2], 2),
        "ratio": round(rates[2] / rates[1], 2),
    }


def ended(model: Any) -> float:
    """When a run ended, in seconds."""
    return time.monotonic()


def waiting() -> dict[str, Any]:
    """Seconds of one run, and of four that share its process."""
    found = {}
    with ServerProcess(latency=0.05) as server, TemporaryDirectory() as folder:
        for runs in (1, 4):
            study = Study(Patient, {"base": server.base}, seeds=range(runs + 1), steps=40,
                          store=Path(folder) / f"{runs}.sqlite",
                          outcomes={"took": took})  # fmt: skip
            study.run(ThreadPoolExecutor(runs), progress=False)
            # The first one pays for what the process loads.
            found[runs] = statistics.mean(study.results().runs["took"][-runs:])
    return {
        "part": "waiting",
        "alone s": round(found[1], 2),
        "of four s": round(found[4], 2),
        "ratio": round(found[4] / found[1], 2),
    }


class Patient(PaidStreet):
    """Says how long its last steps took."""

    def step(self) -> None:
        """A step, after the first of which the time counts."""
        super().step()
        if self.steps == 5:
            self.began = time.monotonic()


def took(model: Any) -> float:
    """Seconds of a step, on average."""
    return (time.monotonic() - model.began) / (model.steps - 5)


def many(runs: int = 1000) -> dict[str, Any]:
    """The tables of one process, of workers, and of Dask's."""
    from distributed import Client, LocalCluster

    said: dict[str, Any] = {"part": "many", "runs": runs}
    tables, seconds = {}, {}
    with TemporaryDirectory() as folder:

        def play(name: str, executor: Any) -> None:
            study = Study(Street, {"memory": ["short_term", "episodic"]},
                          seeds=range(runs // 2), steps=2,
                          store=Path(folder) / f"{name}.sqlite")  # fmt: skip
            began = time.monotonic()
            study.run(executor, progress=False)
            seconds[name] = round(time.monotonic() - began, 1)
            found = study.results()
            tables[name] = {n: getattr(found, n).to_csv() for n in TABLES}
            said[f"{name} finished"] = study.status().counts["finished"]

        play("serial", "serial")
        play("processes", Processes(2))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as at,
            Client(at) as client,
        ):
            play("dask", client.get_executor())
    same = [name for name in tables if tables[name] == tables["serial"]]
    return said | {"seconds": seconds, "same": same, "ratio": len(same)}


PARTS = {"overhead": overhead, "workers": workers, "waiting": waiting, "many": many}


def holds(row: dict[str, Any]) -> bool:
    """True if a part is within its limit."""
    part, ratio = row["part"], row["ratio"]
    if part == "many":
        return ratio == 3
    return ratio >= LIMITS[part] if part == "workers" else ratio <= LIMITS[part]


def main() -> int:
    """Prints each part; 1 if one is not within its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    multiprocessing.set_start_method("spawn", force=True)
    rows = [PARTS[name]() for name in args.part.split(",")]
    for row in rows:
        if args.json:
            print(json.dumps(row))
        else:
            show("A study: " + row["part"], [row])
    return 0 if all(map(holds, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
