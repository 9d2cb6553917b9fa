"""How long a model waits for its memories, against Mesa-LLM's own classes.

    python -m benchmarks.waiting [--agents 100] [--steps 20] [--latency 0.05]
        [--only STLT …] [--json]

A local server, a process of its own, answers every request after ``latency`` seconds.
Mesa-LLM's classes are measured in the same run, one agent after the other and with its
own asyncio stepping; where their time grows with the steps, on fewer of them. Processor
time is that of the whole process for each call: the agents, their memories and either
way to a provider. The direct way's is measured with several towns: the first, the least
and the median, as other programs disturb it by a third and more. What a run leaves behind
as garbage is collected before the next one begins, of either side.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from mesa_llm.memory.episodic_memory import EpisodicMemory as TheirEpisodic
from mesa_llm.memory.lt_memory import LongTermMemory as TheirLongTerm
from mesa_llm.memory.st_lt_memory import STLTMemory as TheirSTLT
from mesa_llm.parallel_stepping import step_agents_parallel

from benchmarks.tables import options, show
from mesa_memory import EpisodicMemory, LongTermMemory, Services, STLTMemory, configure
from tests.support.server_process import ServerProcess
from tests.support.town import Citizen, Town

#: towns in which the direct way is measured
TURNS = 5
PAIRS: dict[str, tuple[type, type, int]] = {
    # ours, theirs, steps on which theirs is measured: STLT consolidates from the
    # eighth step on, so it needs them all
    "STLT": (STLTMemory, TheirSTLT, 0),
    "LongTerm": (LongTermMemory, TheirLongTerm, 2),
    "Episodic": (EpisodicMemory, TheirEpisodic, 1),
}


@dataclass
class Run:
    """What one run of a memory took; rates are for an agent and step."""

    wall: float
    processor: float
    requests: int
    call_rate: float
    token_rate: float

    @property
    def per_call(self) -> float:
        """Milliseconds of the processor."""
        return 1000 * self.processor / max(1, self.requests)


class AsyncCitizen(Citizen):
    """A citizen as Mesa-LLM's asyncio stepping wants it: all that may wait is awaited."""

    async def astep(self) -> None:
        """See ``Citizen.step``."""
        near, now = self.model.neighbours(self), self.model.steps
        await self.memory.aadd_to_memory("observation", self.sight(near, now))
        await self.asend_message(self.saying(now), near[:1])
        await self.memory.aadd_to_memory("action", self.deed(now))


class AsyncTown(Town):
    """A town with Mesa-LLM's own asyncio stepping.

    ``parallel_stepping = True`` would not do: it has no effect on Mesa's agent sets.
    """

    def step(self) -> None:
        """All agents together."""
        asyncio.run(step_agents_parallel(list(self.agents)))


def theirs(cls: type, base: str) -> Callable[[Any], Any]:
    """Makes a memory of Mesa-LLM that asks the local server, without display."""
    named = {"llm_model": "openai/local", "api_base": base, "display": False}
    return lambda agent: cls(agent=agent, **named)


def lived(town: Town, steps: int, server: ServerProcess) -> Run:
    """Runs a town and counts what the server saw."""
    server.reset()
    gc.collect()
    started, processor = time.perf_counter(), time.process_time()
    for _ in range(steps):
        town.step()
    Services.of(town).flush()
    wall = time.perf_counter() - started
    processor = time.process_time() - processor
    seen, agent_steps = server.stats(), len(town.citizens) * steps
    rates = (seen[name] / agent_steps for name in ("requests", "prompt_tokens"))
    return Run(wall, processor, seen["requests"], *rates)


def compare(
    name: str, agents: int, steps: int, server: ServerProcess
) -> dict[str, Any]:
    """One memory and its counterpart: seconds, and milliseconds of the processor a call."""
    ours, their_class, few = PAIRS[name]
    fewer, base = few or steps, server.base
    runs: dict[str, list[Run]] = {}
    for way, turns in (("litellm", 1), ("direct", TURNS)):
        choose = partial(configure, client=way)
        lived(Town(5, ours, base, choose), 10, server)  # loads what is loaded once
        towns = (Town(agents, ours, base, choose) for _ in range(turns))
        runs[way] = [lived(town, steps, server) for town in towns]
    mine, make = runs["direct"][0], theirs(their_class, base)
    direct = [run.per_call for run in runs["direct"]]
    other = lived(Town(agents, make, base), fewer, server)
    town = AsyncTown(agents, make, base, citizen=AsyncCitizen)
    together = lived(town, fewer, server)
    in_turn, at_once = (run.wall * steps / fewer for run in (other, together))
    return {
        "memory": name,
        "seconds": mine.wall,
        "theirs": in_turn,
        "faster": in_turn / mine.wall,
        "theirs_asyncio": at_once,
        "faster_than_asyncio": at_once / mine.wall,
        "direct_ms": mine.per_call,
        "least_ms": min(direct),
        "median_ms": statistics.median(direct),
        "litellm_ms": runs["litellm"][0].per_call,
        "theirs_ms": together.per_call,
        "calls": mine.call_rate,
        "their_calls": other.call_rate,
        "tokens": mine.token_rate,
        "their_tokens": other.token_rate,
    }


def main() -> None:
    """Runs the benchmark from the command line."""
    given = options(__doc__, agents=100, steps=20, latency=0.05, only=PAIRS)
    with ServerProcess(latency=given.latency) as server:
        rows = [compare(n, given.agents, given.steps, server) for n in given.only]
    show("Waiting for memories", rows, as_json=given.json)


if __name__ == "__main__":
    main()
