"""What a memory costs where no language model is asked, and that it does not grow.

    python -m benchmarks.overhead [--agents 100] [--steps 100] [--json]

Agent-steps per second of processor time, against Mesa-LLM's ShortTermMemory in the
same run, and the objects held after a run three times as long.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable
from typing import Any

from mesa_llm.memory.st_memory import ShortTermMemory as TheirShortTerm
from rich.console import Console
from rich.table import Table

from benchmarks.town import Town
from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
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
    if given.json:
        print(json.dumps(rows))
        return
    table = Table(title="Overhead of memories without a language model")
    for heading in rows[0]:
        table.add_column(heading.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(
            *[f"{v:,.2f}" if isinstance(v, float) else str(v) for v in row.values()]
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
