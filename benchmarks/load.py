"""Load: 10,000 agents beside 100, without a language model.

    python -m benchmarks.load [--agents 10000] [--memory NAME …] [--json]

Each agent reads its memory, sees, acts and says something to the next one in each step.
Once all windows are full: processor time of an agent-step, the collector's included, in
the large and the small model, which go on in turns; and the resident memory of the large
one before and after these steps. Then one step in which each agent of the large model
asks a provider that takes a moment: the most tasks of the event loop at once.
"""

import argparse
import asyncio
import gc
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
import psutil
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import show
from mesa_memory import (
    EpisodicMemory,
    OfflineLLM,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
    register_policy,
)

#: of which all windows are full after ``FULL_AFTER`` steps
MEMORIES: dict[str, Callable[[Any], Any]] = {
    "short_term": lambda agent: ShortTermMemory(agent, history_capacity=10),
    "stlt": lambda agent: STLTMemory(agent, history_capacity=10),
    "episodic": lambda agent: EpisodicMemory(
        agent, max_capacity=20, history_capacity=10
    ),
}
FULL_AFTER, TURNS = 12, 5
#: agents of the small model
FEW = 100
#: most times the time of an agent-step, growth of memory in percent, and tasks at once
MAX_TIMES, MAX_GROWTH_PERCENT, MAX_TASKS = 1.5, 3.0, 2_000


class SlowLLM:
    """Answers offline after a moment, and counts the tasks of the event loop."""

    def __init__(self) -> None:
        self.calls, self.tasks = 0, 0

    async def acomplete(self, request: Any) -> Any:
        """The offline answer."""
        self.calls += 1
        if self.calls % 20 == 1:
            self.tasks = max(self.tasks, len(asyncio.all_tasks()))
        await asyncio.sleep(0.001)
        return OfflineLLM().complete(request)


class Person(LLMAgent):
    """Reads, sees, acts, and talks to the next one."""

    def step(self) -> None:
        """Three events, one of them also of another agent."""
        now = int(self.model.steps)
        self.memory.process_step(pre_step=True)
        assert self.memory.get_prompt_ready()
        self.memory.add_to_memory("observation", {"day": now, "me": self.unique_id})
        self.memory.add_to_memory("action", {"walks": f"to house {now % 7}"})
        self.send_message(f"On day {now} the bridge was closed.", [self.other])
        self.memory.process_step()


class Town(mesa.Model):
    """Many people."""

    def __init__(self, memory: str, n: int, llm: Any = "offline") -> None:
        super().__init__(rng=1)
        configure(self, llm=llm)
        quiet = register_policy("quiet", lambda turn: "")
        people = [Person(self, CoTReasoning, quiet) for _ in range(n)]
        for person, other in zip(people, [*people[1:], people[0]], strict=True):
            person.memory, person.other = MEMORIES[memory](person), other

    def step(self) -> None:
        """All act, in order."""
        self.agents.do("step")

    def lived(self, steps: int) -> float:
        """Milliseconds of processor time of an agent-step."""
        began = time.process_time()
        for _ in range(steps):
            self.step()
        Services.of(self).flush()
        return 1000 * (time.process_time() - began) / steps / len(self.agents)


def resident() -> float:
    """Megabytes of this process."""
    gc.collect()
    return psutil.Process().memory_info().rss / 1e6


def measure(memory: str, many: int) -> dict[str, Any]:
    """Both models, once their windows are full."""
    small = Town(memory, FEW)
    small.lived(FULL_AFTER)
    empty = resident()
    large = Town(memory, many)
    large.lived(FULL_AFTER)
    full = resident()
    turns = [(large.lived(1), small.lived(10)) for _ in range(TURNS)]
    after = resident()
    return {
        "memory": memory,
        "ms_few": statistics.median(few for _, few in turns),
        "ms_many": statistics.median(many for many, _ in turns),
        "times": statistics.median(many / few for many, few in turns),
        "kb_per_agent": 1000 * (full - empty) / many,
        "growth_percent": 100 * (after - full) / (full - empty),
    }


def tasks(many: int) -> dict[str, Any]:
    """The most tasks at once in steps in which all agents ask."""
    client = SlowLLM()
    town = Town("stlt", many, client)
    town.lived(7)
    return {"agents": many, "requests": client.calls, "most_tasks": client.tasks}


def main() -> None:
    """Prints the tables, and fails where a limit is crossed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--memory", nargs="*", choices=MEMORIES, default=[*MEMORIES])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [measure(name, given.agents) for name in given.memory]
    asked = tasks(given.agents)
    if given.json:
        print(json.dumps({"load": rows, "tasks": asked}))
    else:
        show(f"{given.agents:,} agents beside {FEW}", rows)
        show("Tasks of the event loop", [asked])
    assert max(row["times"] for row in rows) <= MAX_TIMES
    assert max(row["growth_percent"] for row in rows) <= MAX_GROWTH_PERCENT
    assert asked["most_tasks"] <= MAX_TASKS


if __name__ == "__main__":
    main()
