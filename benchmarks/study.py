"""What a study costs beside Mesa's ``batch_run``, and what its workers bring.

    python -m benchmarks.study [--part overhead …] [--studies 400] [--json]

overhead   CPU seconds of a study, not recorded and recorded, in one process, as a share
           of those of Mesa's ``batch_run`` of the same runs. Limit: 1.05 without records.
workers    Runs in a second with two worker processes, as a multiple of one; without the
           seconds in which they load what they need. Limit: at least 1.7.
waiting    Seconds of four runs in threads of one process that asks a model of 50 ms, as a
           multiple of those of one run alone. Limit: 1.2.
many       1,000 short runs by processes and by Dask: the tables of one process, byte for
           byte, and no run twice.
cache      A provider answers C with chance 0.6, and D else. Each of 400 studies has a cache
           of its own, and asks the same question with 8 seeds, 2 agents and 2 steps: the
           share of those whose 95% interval of Student's t over the seeds' shares of C
           covers 0.6. Limit: 0.92 to 0.98. A second run of each study, into another
           store, must send nothing.
"""

import logging
import math
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
import numpy as np
from scipy import stats

from benchmarks.tables import options, show
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Processes, Study
from tests.support.choosers import CHANCE, Choice, chance_server
from tests.support.server_process import ServerProcess
from tests.support.studied import PaidStreet, Street

TABLES = ("runs", "steps", "agents", "calls")
ROUNDS = 5
#: of a part, the least and the most that its ratio may be
LIMITS = {
    "overhead": (0.0, 1.05), "workers": (1.7, math.inf), "waiting": (0.0, 1.2),
    "many": (3, 3), "cache": (0.92, 0.98),
}  # fmt: skip
RUMOR = {"memory": "episodic", "n_agents": 20}


def overhead() -> dict[str, Any]:
    """CPU seconds of the same runs, in turns; the median of the ratios."""
    how = {"rng": [1, 2], "max_steps": 30, "display_progress": False}

    def studied(record: bool) -> None:
        with TemporaryDirectory() as folder:
            study = Study(RumorModel, RUMOR, seeds=[1, 2], steps=30, record=record,
                          store=Path(folder) / "study.sqlite")  # fmt: skip
            study.run("serial", progress=False)

    ways: dict[str, Callable[[], Any]] = {
        "mesa": lambda: mesa.batch_run(RumorModel, RUMOR, **how),
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
        "mesa s": statistics.median(taken["mesa"]),
        "recorded": statistics.median(pairs["recorded"]),
        "ratio": statistics.median(pairs["study"]),
    }


def workers() -> dict[str, Any]:
    """Runs in a second, once the workers run, by one and by two."""
    rates = {}
    for count in (1, 2):
        with TemporaryDirectory() as folder:
            study = Study(RumorModel, RUMOR, seeds=range(16), steps=30,
                          store=Path(folder) / "s.sqlite",
                          outcomes={"ended": ended})  # fmt: skip
            study.run(Processes(count), progress=False)
            ends = sorted(study.results().runs["ended"])
        # The first run of each worker pays for what it loads.
        rates[count] = (len(ends) - count) / (ends[-1] - ends[count - 1])
    return {
        "part": "workers",
        "one": rates[1],
        "two": rates[2],
        "ratio": rates[2] / rates[1],
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
        "alone s": found[1],
        "of four s": found[4],
        "ratio": found[4] / found[1],
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


def cache(studies: int) -> dict[str, Any]:
    """How many studies' intervals cover the chance; none asks anything twice."""
    logging.disable(logging.WARNING)
    covered, again = 0, 0
    with chance_server() as server:
        for _ in range(studies):
            with TemporaryDirectory() as folder:
                first = shares(Path(folder), "first.sqlite", server.base)
                asked = len(server.log)
                second = shares(Path(folder), "second.sqlite", server.base)
            again += len(server.log) - asked
            assert (first == second).all()
            width = stats.t.ppf(0.975, len(first) - 1) * stats.sem(first)
            covered += abs(first.mean() - CHANCE) <= width
    assert again == 0, f"{again} requests of the second runs"
    return {"part": "cache", "studies": studies, "ratio": covered / studies}


def shares(folder: Path, store: str, base: str) -> np.ndarray:
    """The share of C of each seed."""
    study = Study(
        Choice, {"base": [base], "cache": [str(folder / "cache.sqlite")]}, seeds=range(8),
        steps=2, outcomes={"share": cooperation}, store=folder / store, record=False,
    )  # fmt: skip
    study.run("serial", progress=False)
    return study.results().runs["share"].to_numpy(float)


def cooperation(model: Choice) -> float:
    """The share of C among all answers."""
    return model.choices.count("C") / max(1, len(model.choices))


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "overhead": overhead,
    "workers": workers,
    "waiting": waiting,
    "many": many,
    "cache": cache,
}


def main() -> int:
    """Prints each part; 1 if one is not within its limit."""
    given = options(__doc__, part=PARTS, studies=400)
    multiprocessing.set_start_method("spawn", force=True)
    held = True
    for name in given.part:
        row = PARTS[name](*[given.studies] * (name == "cache"))
        show("A study: " + name, [row], 3, given.json)
        least, most = LIMITS[name]
        held = held and least <= row["ratio"] <= most
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
