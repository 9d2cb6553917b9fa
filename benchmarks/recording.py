"""How fast a run is written into a store, and what that costs a busy simulation.

    python -m benchmarks.recording [--agents 1000] [--events 3] [--steps 200] [--json]

A writer's thread gets a batch for each step: alone, beside another thread that works in
pure Python as a simulation does, and at a given pace beside it. Reported are the events
that reach the file in a second, how much slower the busy thread is than alone, the
processor time of writing an event, how much of it holds the interpreter's lock, and
bytes. Slower and per second mean little while other programs use the processors.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import show
from mesa_memory.stores import Batch, RunInfo, Writer, open_store
from mesa_memory.stores.batches import together
from mesa_memory.stores.rows import Blobs, texts

TEXT = "the mill by the river is on fire, and nobody is there to put it out"


def batch(step: int, agents: int, events: int, vectors: bool, grades: bool) -> Batch:
    """A step in which each agent remembers some events."""
    rows, row = [], 0
    table = np.random.default_rng(step).random((agents * events, 256)).astype("<f2")
    for agent in range(agents):
        for event in range(events):
            rows.append(
                {
                    "id": f"{agent}/episodic/message/{step * events + event}",
                    "agent": str(agent),
                    "layer": "episodic",
                    "kind": "message",
                    "step": step,
                    "text": f"Step {step}: Agent {agent} says: {TEXT}",
                    "content": {"message": TEXT, "sender": agent, "recipients": [1, 2]},
                    "importance": None,
                    "subject": None,
                    "sources": [],
                    "origin": "event",
                    "valid_from": step,
                }
            )
            if vectors:
                rows[-1] |= {"embedding": table[row].tobytes(), "embedder": "static"}
            row += 1
    changed = Batch(step, opened=rows)
    if grades:  # those of the step before, as deferred work does
        ids = [f"{a}/episodic/message/{(step - 1) * events}" for a in range(agents)]
        changed.graded = [(name, 3.0, step) for name in ids] if step else []
        changed.closed = [(name, step, "evicted", None) for name in ids] if step else []
    return changed


class Busy(threading.Thread):
    """Counts how often it can do a piece of work in pure Python."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.rounds, self.stop, self.cpu = 0, False, 0.0

    def run(self) -> None:
        """Works until told to stop."""
        while not self.stop:
            words = [f"{n}:{n * n}" for n in range(100)]
            self.rounds += len("".join(words)) > 0
        self.cpu = time.thread_time()


def alone(seconds: float) -> float:
    """Rounds per second of a busy thread that nothing disturbs."""
    busy = Busy()
    started = time.perf_counter()
    busy.start()
    time.sleep(seconds)
    busy.stop = True
    busy.join()
    return busy.rounds / (time.perf_counter() - started)


def locked(batches: list[Batch]) -> float:
    """Seconds of Python in which nothing else can run in the process."""
    started = time.thread_time()
    for given in batches:
        new, blobs = together([given], 0), Blobs()
        for rows in (*new.inserts.values(), *new.changes.values()):
            for _ in texts(rows, blobs.add):
                blobs.taken()
    return time.thread_time() - started


def write(
    location: str, batches: list[Batch], pace: float, beside: bool
) -> dict[str, float]:
    """Writes the batches, ``pace`` seconds apart."""
    store = open_store(location)
    writer = Writer(store, store.begin(RunInfo("Benchmark")))
    busy = Busy()
    if beside:
        busy.start()
    started, cpu = time.perf_counter(), time.process_time()
    for number, given in enumerate(batches, 1):
        writer.put(given)
        time.sleep(max(0.0, started + number * pace - time.perf_counter()))
    writer.flush()
    seconds = time.perf_counter() - started
    cpu = time.process_time() - cpu
    busy.stop = True
    if beside:
        busy.join()
    writer.close()
    store.close()
    events = sum(len(given.opened) for given in batches)
    return {
        "events_per_second": events / seconds,
        "busy_rounds_per_second": busy.rounds / seconds,
        "writer_us_per_event": (cpu - busy.cpu) / events * 1e6,
    }


def measure(agents: int, events: int, steps: int) -> list[dict[str, Any]]:
    """The figures: plain, with changes, with vectors, and at a pace."""
    rows = []
    cases = [  # vectors, changes, events asked for per second, a busy thread
        (False, False, 0, False),
        (False, True, 0, False),
        (True, True, 0, False),
        (False, False, 0, True),
        (True, True, 0, True),
        (True, True, 10_000, True),
    ]
    for vectors, changes, rate, beside in cases:
        batches = [batch(s, agents, events, vectors, changes) for s in range(steps)]
        before = alone(2) if beside else 0.0
        pace = agents * events / rate if rate else 0.0
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.sqlite"
            found = write(str(path), batches, pace, beside)
            size = os.path.getsize(path)
        usual = (before + alone(2)) / 2 if beside else 0.0
        slower = 100 * (1 - found["busy_rounds_per_second"] / usual) if beside else None
        rows.append(
            {
                "vectors": vectors,
                "changes": changes,
                "asked_per_second": rate or "all",
                "events_per_second": round(found["events_per_second"]),
                "busy_slower_percent": slower,
                "cpu_us_per_event": found["writer_us_per_event"],
                "locked_us_per_event": locked(batches) / agents / events / steps * 1e6,
                "bytes_per_event": round(size / (agents * events * steps)),
            }
        )
    return rows


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--events", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = measure(given.agents, given.events, given.steps)
    if given.json:
        print(json.dumps(rows))
        return
    show("Recording into SQLite beside a busy thread", rows, digits=1)


if __name__ == "__main__":
    main()
