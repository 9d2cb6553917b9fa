"""Time and memory of an agent-step among 10,000 agents, beside one among 100.

    python -m benchmarks.load [--agents N] [--memory NAME …] [--json]

Each agent hears a message, observes, reads its prompt and ends its step, with the offline
model. Both models go on in turns once the windows are full, so that the load of the
machine slows both; times are of the processor, with the garbage collector, and the ratio
is the median of all turns. Bytes are those by which the process grows in a later step of
one of the 100, once indexes have been cleared of what was evicted. Then the memories'
requests to a provider that is silent until the step is over: the most that were begun at
once in a step in which each of the agents asks.
"""

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import mesa
import psutil

from benchmarks.tables import options, show
from mesa_memory import (
    EpisodicMemory,
    LongTermMemory,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.llm import Reply
from mesa_memory.runtime.loop import MAX_TASKS

FEW, MANY = 100, 10_000
#: steps until all windows are full and a summary has been made again, and steps measured
WARM_STEPS, TURNS = 4, 2
#: of the few, for one of the many
SMALL_STEPS = 10
#: of the few, until their indexes are as large as they get, and as many for the bytes
LATER_STEPS = 60
#: most times the time of an agent-step among few
MOST_TIMES = 1.5
#: with windows that are full in the steps before those measured
MEMORIES: dict[str, Callable[[Any], Any]] = {
    "short_term": lambda agent: ShortTermMemory(agent, 2, history_capacity=2),
    "stlt": lambda agent: STLTMemory(agent, 2, 1, history_capacity=2),
    "episodic": lambda agent: EpisodicMemory(agent, max_capacity=6, history_capacity=2),
}


class Neighbour(mesa.Agent):
    """Hears what the agent before it does."""

    def __init__(self, model: "Neighbourhood", memory: Callable[[Any], Any]) -> None:
        super().__init__(model)
        self.memory = memory(self)

    def step(self) -> None:
        """One step as Mesa-LLM's agents have it."""
        self.memory.process_step(pre_step=True)
        step, own = int(self.model.time), self.unique_id
        seen = {
            "place": f"street {(own + step) % 40}",
            "weather": ("sun", "rain")[step % 2],
        }
        self.memory.add_to_memory("observation", seen)
        self.memory.get_prompt_ready()
        other = self.model.people[own % len(self.model.people)]
        said = {"message": f"I repaired roof {step} of house {own}.", "sender": own}
        other.memory.add_to_memory("message", said)
        self.memory.process_step()


class Neighbourhood(mesa.Model):
    """People in a row."""

    def __init__(self, count: int, memory: Callable[[Any], Any], llm: Any = "offline"):
        super().__init__(rng=1)
        configure(self, llm=llm)
        self.people = [Neighbour(self, memory) for _ in range(count)]

    def step(self) -> None:
        """All in order."""
        for agent in self.people:
            agent.step()


class SilentProvider:
    """Answers once it is ``open``; counts who asks at once."""

    def __init__(self) -> None:
        self.begun = self.most = self.asked = 0
        self.open = False

    async def acomplete(self, request: Any) -> Reply:
        """A summary."""
        self.begun, self.asked = self.begun + 1, self.asked + 1
        self.most = max(self.most, self.begun)
        while not self.open:
            await asyncio.sleep(0.2)
        await asyncio.sleep(0)
        self.begun -= 1
        return Reply('{"summary": "Roofs were repaired."}', model="silent/1")


def step_time(model: Neighbourhood, steps: int) -> float:
    """Processor seconds of an agent-step."""
    started = time.process_time()
    for _ in range(steps):
        model.step()
    Services.of(model).flush()
    return (time.process_time() - started) / (steps * len(model.people))


def measure(name: str, many: int) -> dict[str, Any]:
    """The times and bytes of one memory."""
    few, crowd = (Neighbourhood(n, MEMORIES[name]) for n in (FEW, many))
    for model in (few, crowd):
        step_time(model, WARM_STEPS)
    turns = [(step_time(few, SMALL_STEPS), step_time(crowd, 1)) for _ in range(TURNS)]
    return {
        "memory": name,
        "agents": many,
        f"ms among {FEW}": 1000 * statistics.median(small for small, _ in turns),
        "ms among all": 1000 * statistics.median(large for _, large in turns),
        "ratio": statistics.median(large / small for small, large in turns),
        "bytes per agent-step": round(growth(few)),
    }


def growth(model: Neighbourhood) -> float:
    """Bytes by which the process grows in a later agent-step."""
    held = []
    for _ in range(2):
        step_time(model, LATER_STEPS)
        gc.collect()
        held.append(psutil.Process().memory_info().rss)
    return (held[1] - held[0]) / (LATER_STEPS * len(model.people))


def begun_at_once(many: int) -> tuple[int, int]:
    """Requests of a crowd that were begun at once in a step, and all of them."""
    provider = SilentProvider()
    model = Neighbourhood(many, LongTermMemory, provider)
    model.step()
    provider.open = True
    Services.of(model).flush()
    return provider.most, provider.asked


def main() -> None:
    """Measures and shows; ends with 1 if a limit is exceeded."""
    given = options(__doc__, agents=MANY, memory=MEMORIES)
    rows = []
    for name in given.memory:
        rows.append(measure(name, given.agents))
        print(rows[-1], file=sys.stderr, flush=True)  # the next ones take long
    show("An agent-step among few and among many", rows, 3, given.json)
    most, asked = begun_at_once(given.agents)
    print(f"Begun at once: {most} of {asked} requests (at most {MAX_TASKS}).")
    slow = [row["memory"] for row in rows if row["ratio"] > MOST_TIMES]
    if slow or most > MAX_TASKS:
        sys.exit(f"over the limit: {', '.join(slow) or 'requests begun at once'}")


if __name__ == "__main__":
    main()
