"""How long a model waits for its memories, against Mesa-LLM's own classes.

    python -m benchmarks.waiting [--agents 100] [--steps 20] [--latency 0.05] [--json]

A local server answers every request after ``latency`` seconds. Our time is compared
with the larger of two floors, calls x latency / concurrency and the processor time of
as many bare litellm calls (measured in the same run), and with Mesa-LLM's classes,
whose time grows with the steps, measured on fewer of them.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from mesa_llm.memory.episodic_memory import EpisodicMemory as TheirEpisodic
from mesa_llm.memory.lt_memory import LongTermMemory as TheirLongTerm
from mesa_llm.memory.st_lt_memory import STLTMemory as TheirSTLT
from rich.console import Console
from rich.table import Table

from benchmarks.town import Town
from mesa_memory import EpisodicMemory, LongTermMemory, Services, STLTMemory
from mesa_memory.llm.litellm import litellm
from tests.support.openai_server import ServerProcess

MODEL = "openai/local"
CONCURRENCY = 32
#: bare calls to measure litellm's processor time with
SAMPLE = 300


@dataclass
class Row:
    """One memory's figures; times in seconds.

    Attributes:
        wall: our time for all steps.
        floor: the larger of the two floors.
        ratio: wall / floor.
        calls, tokens: requests and prompt tokens for one agent and step.
        theirs: Mesa-LLM's time for as many steps.
        faster: theirs / wall.
        their_calls, their_tokens: as ``calls`` and ``tokens``, of Mesa-LLM.
    """

    memory: str
    wall: float
    floor: float
    ratio: float
    calls: float
    tokens: float
    theirs: float
    faster: float
    their_calls: float
    their_tokens: float


@dataclass
class Run:
    """What one run of a memory took."""

    wall: float
    requests: int
    prompt_tokens: int


def theirs(cls: type, base: str) -> Callable[[Any], Any]:
    """Makes a memory of Mesa-LLM that asks the local server, without display."""
    return lambda a: cls(agent=a, llm_model=MODEL, api_base=base, display=False)


PAIRS: dict[str, tuple[type, type, int]] = {
    # ours, theirs, steps on which theirs is measured: STLT consolidates from the
    # eighth step on, so it needs them all
    "STLT": (STLTMemory, TheirSTLT, 0),
    "LongTerm": (LongTermMemory, TheirLongTerm, 2),
    "Episodic": (EpisodicMemory, TheirEpisodic, 1),
}


def step(town: Town, steps: int, server: ServerProcess) -> Run:
    """Runs a town and counts what the server saw."""
    server.reset()
    started = time.perf_counter()
    for _ in range(steps):
        town.step()
    Services.of(town).flush()
    wall = time.perf_counter() - started
    stats = server.stats()
    return Run(wall, stats["requests"], stats["prompt_tokens"])


async def _bare(base: str, calls: int) -> None:
    slots = asyncio.Semaphore(CONCURRENCY)

    async def one(number: int) -> None:
        async with slots:
            await litellm.acompletion(
                model=MODEL,
                messages=[{"role": "user", "content": f"{number} " * 200}],
                api_base=base,
                timeout=60,
                max_retries=0,
            )

    await asyncio.gather(*[one(number) for number in range(calls)])


def bare_call_seconds(base: str) -> float:
    """Processor seconds of one bare litellm call; the first ones warm it up."""

    async def measure() -> float:
        await _bare(base, 50)
        started = time.process_time()
        await _bare(base, SAMPLE)
        return (time.process_time() - started) / SAMPLE

    return asyncio.run(measure())


def compare(
    name: str, agents: int, steps: int, latency: float, server: ServerProcess
) -> Row:
    """Measures one memory and its counterpart."""
    ours, their_class, few = PAIRS[name]
    fewer = few or steps
    processor = bare_call_seconds(server.base)
    mine = step(Town(agents, ours, server.base), steps, server)
    town = Town(agents, theirs(their_class, server.base), server.base)
    other = step(town, fewer, server)
    floor = max(mine.requests * latency / CONCURRENCY, mine.requests * processor)
    their_wall = other.wall * steps / fewer
    return Row(
        name,
        mine.wall,
        floor,
        mine.wall / floor,
        mine.requests / (agents * steps),
        mine.prompt_tokens / (agents * steps),
        their_wall,
        their_wall / mine.wall,
        other.requests / (agents * fewer),
        other.prompt_tokens / (agents * fewer),
    )


def show(rows: list[Row]) -> None:
    """Prints the figures as a table."""
    table = Table(title="Waiting for memories")
    for heading in asdict(rows[0]):
        table.add_column(heading.replace("_", " "), justify="right")
    for row in rows:
        values = asdict(row).values()
        table.add_row(*[v if isinstance(v, str) else f"{v:.2f}" for v in values])
    Console(width=140).print(table)


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--only", choices=PAIRS, action="append")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with ServerProcess(latency=given.latency) as server:
        rows = [
            compare(name, given.agents, given.steps, given.latency, server)
            for name in given.only or PAIRS
        ]
    if given.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        show(rows)


if __name__ == "__main__":
    main()
