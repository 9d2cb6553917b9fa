"""What a memory costs where no language model is asked, that it does not grow, and what
recording adds to it.

    python -m benchmarks.overhead [--agents 100] [--steps 100] [--json]

Agent-steps per second of processor time, against Mesa-LLM's ShortTermMemory in the
same run, and the objects held after a run three times as long. Of a recorded run: the
processor time of the simulation's thread and the time by the clock, as ratios to the
same run unrecorded, in turns. By the clock, the thread also waits while another one
holds the interpreter's lock.
"""

import argparse
import gc
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
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


class Readers(Town):
    """A town in which everybody reads what he remembers in each step."""

    def step(self) -> None:
        """All act, then all read."""
        super().step()
        for citizen in self.citizens:
            citizen.memory.get_prompt_ready()


#: the memories of which the recording is measured, and the towns
RECORDED = {
    "ShortTerm": ("ShortTerm", Town),
    "STLT": ("STLT, offline", Town),
    "Episodic": ("Episodic, offline", Town),
    "Episodic, all read": ("Episodic, offline", Readers),
}


def recorded(name: str, agents: int, steps: int, turns: int = 5) -> dict[str, Any]:
    """What recording adds: the best runs of each kind, in turns after a first one."""
    took: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    with TemporaryDirectory() as folder:
        for turn in range(turns + 1):
            for record in (False, True):
                file = Path(folder) / f"{turn}.sqlite" if record else None
                took[record].append(played(name, agents, steps, file))
        assert file is not None
        with closing(sqlite3.connect(file)) as on:
            (records,) = on.execute("SELECT count(*) FROM records").fetchone()
        size = file.stat().st_size
    without, within = (np.min(took[record][1:], axis=0) for record in (False, True))
    thread, clock = within / without
    return {
        "memory": name,
        "thread_times_unrecorded": float(thread),
        "clock_times_unrecorded": float(clock),
        "bytes_per_record": size / records,
    }


def played(
    name: str, agents: int, steps: int, file: Path | None
) -> tuple[float, float]:
    """Seconds that the steps of a run take: of this thread, and by the clock.

    Its beginning and its end are not among them.
    """
    memory, town = RECORDED[name]
    model = town(
        *(agents, MEMORIES[memory], None),
        lambda m: configure(m, llm="offline", record=file),
    )
    model.step()
    gc.collect()
    thread, clock = time.thread_time(), time.perf_counter()
    for _ in range(steps):
        model.step()
    thread, clock = time.thread_time() - thread, time.perf_counter() - clock
    if recorder := Services.of(model).recorder:
        recorder.close()
        recorder.store.close()
    return thread, clock


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
