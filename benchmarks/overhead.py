"""What a memory costs where no language model is asked, that it does not grow, and what
recording adds to it.

    python -m benchmarks.overhead [--agents 100] [--steps 100] [--json]

Agent-steps per second of processor time, against Mesa-LLM's ShortTermMemory in the
same run, and the objects held after a run three times as long. Of a recorded run: the
time of the simulation's thread and the time by the clock, as ratios to the same run
unrecorded, in turns.

The thread's time is taken while all threads share one processor. Where the second one
of a virtual machine now works and now rests, the first one gets slower for seconds on
end, whoever it is that works there; that would be measured instead. With one processor
the thread also pays for what the writer leaves in its caches. The clock is read in
runs that use all processors.
"""

import argparse
import gc
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from mesa_llm.memory.st_memory import ShortTermMemory as TheirShortTerm

from benchmarks.tables import show
from benchmarks.town import Town
from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
)

MEMORIES: dict[str, Callable[[Any], Any]] = {
    "Mesa-LLM ShortTerm": lambda agent: TheirShortTerm(agent, display=False),
    "ShortTerm": ShortTermMemory,
    "STLT, no consolidation": lambda agent: STLTMemory(agent, 5, 0),
    "STLT, offline": STLTMemory,
    "LongTerm, offline": LongTermMemory,
    "Episodic, offline": lambda a: EpisodicMemory(a, max_capacity=50),
    "Impression, offline": ImpressionMemory,
}


def town(memory: Callable[[Any], Any], agents: int) -> Town:
    """A town whose memories need no server."""
    return Town(agents, memory, None, lambda model: configure(model, llm="offline"))


def speed(memory: Callable[[Any], Any], agents: int, steps: int) -> float:
    """Agent-steps per second of processor time, the best of three runs."""
    best = 0.0
    for _ in range(3):
        model = town(memory, agents)
        for _ in range(10):
            model.step()
        started = time.process_time()
        for _ in range(steps):
            model.step()
        best = max(best, agents * steps / (time.process_time() - started))
    return best


def objects(memory: Callable[[Any], Any], steps: int) -> int:
    """Python objects that a run of ``steps`` steps leaves behind."""
    gc.collect()
    before = len(gc.get_objects())
    model = town(memory, 10)
    for _ in range(steps):
        model.step()
    gc.collect()
    return len(gc.get_objects()) - before + 0 * id(model)


#: the memories of which the recording is measured
RECORDED = ("ShortTerm", "STLT, offline", "Episodic, offline")


def recorded(name: str, agents: int, steps: int, turns: int = 3) -> dict[str, Any]:
    """What recording adds: medians of runs in turns, after a first one."""
    thread: dict[bool, list[float]] = {False: [], True: []}
    clock: dict[bool, list[float]] = {False: [], True: []}
    with TemporaryDirectory() as folder:
        for turn in range(turns + 1):
            for record in (False, True):
                file = Path(folder) / f"{turn}.sqlite" if record else None
                with one_processor():
                    took = played(name, agents, steps, file, time.thread_time)
                thread[record].append(took)
                took = played(name, agents, steps, file, time.perf_counter)
                clock[record].append(took)
        assert file is not None
        with closing(sqlite3.connect(file)) as on:  # both runs are in it
            (records,) = on.execute("SELECT count(*) FROM records").fetchone()
        size = file.stat().st_size
    return {
        "memory": name,
        "thread_times_unrecorded": times(thread),
        "clock_times_unrecorded": times(clock),
        "bytes_per_record": size / records,
    }


def times(seconds: dict[bool, list[float]]) -> float:
    """How many times an unrecorded run a recorded one takes; the first warms up."""
    return median(seconds[True][1:]) / median(seconds[False][1:])


def played(
    name: str, agents: int, steps: int, file: Path | None, timer: Callable[[], float]
) -> float:
    """Seconds that the steps of a run take, without its beginning and its end."""
    model = Town(
        *(agents, MEMORIES[name], None),
        lambda m: configure(m, llm="offline", record=file),
    )
    model.step()
    gc.collect()
    began = timer()
    for _ in range(steps):
        model.step()
    took = timer() - began
    if recorder := Services.of(model).recorder:
        recorder.close()
        recorder.store.close()
    return took


@contextmanager
def one_processor() -> Iterator[None]:
    """All threads begun here share one processor, where the platform can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_of_them)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def measure(agents: int, steps: int) -> list[dict[str, Any]]:
    """The figures of every memory."""
    rows = []
    for name, memory in MEMORIES.items():
        objects(memory, 5)  # what the first use loads once is not growth
        early, late = objects(memory, 300), objects(memory, 900)
        rows.append(
            {
                "memory": name,
                "agent_steps_per_second": speed(memory, agents, steps),
                "objects_after_300_steps": early,
                "objects_after_900_steps": late,
            }
        )
    reference = rows[0]["agent_steps_per_second"]
    for row in rows:
        row["times_mesa_llm"] = row["agent_steps_per_second"] / reference
    return rows


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = measure(given.agents, given.steps)
    added = [recorded(name, given.agents, given.steps) for name in RECORDED]
    if given.json:
        print(json.dumps({"memories": rows, "recorded": added}))
        return
    show("Overhead of memories without a language model", rows)
    show("What recording adds", added)


if __name__ == "__main__":
    main()
