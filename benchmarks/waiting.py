"""How long a model waits for its memories, against Mesa-LLM's own classes.

    python -m benchmarks.waiting [--agents 100] [--steps 20] [--latency 0.05] [--json]

A local server, a process of its own, answers every request after ``latency`` seconds.
Mesa-LLM's classes are measured in the same run, one agent after the other and with its
own asyncio stepping; where their time grows with the steps, on fewer of them. Processor
time in the table is that of the whole process, all included, for each call: the agents,
their memories and either way to a provider. The direct way's is measured with several
towns: the first, the least and the median, as other programs disturb it by a third and
more. Below it stands what a call of the client alone takes, beside bare litellm calls
with the same messages: the least of several turns. What a run leaves behind as garbage is
collected before the next one begins, of either side.
"""

import argparse
import asyncio
import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from mesa_llm.memory.episodic_memory import EpisodicMemory as TheirEpisodic
from mesa_llm.memory.lt_memory import LongTermMemory as TheirLongTerm
from mesa_llm.memory.st_lt_memory import STLTMemory as TheirSTLT
from mesa_llm.parallel_stepping import step_agents_parallel
from rich.console import Console
from rich.table import Table

from mesa_memory import EpisodicMemory, LongTermMemory, Services, STLTMemory, configure
from mesa_memory.llm import LLMRequest, LLMSettings
from mesa_memory.llm.providers.client import ProviderClient
from mesa_memory.llm.providers.litellm import litellm
from mesa_memory.llm.schemas import json_schema
from mesa_memory.tasks.consolidate import Summary
from tests.support.server_process import ServerProcess
from tests.support.town import Citizen, Town

MODEL = "openai/local"
CONCURRENCY = 32
#: bare calls to measure litellm's processor time with
SAMPLE = 300
TURNS = 5


@dataclass
class Row:
    """One memory's figures; times in seconds, processor time in milliseconds a call.

    Attributes:
        wall: our time for all steps.
        direct, litellm: our processor time, either way.
        least, median: of the direct way, in ``TURNS`` towns.
        bare: processor time of a bare litellm call.
        calls, tokens: requests and prompt tokens for one agent and step.
        theirs, theirs_asyncio: Mesa-LLM's time for as many steps.
        faster, faster_than_asyncio: their time / wall.
        their_calls, their_tokens: as ``calls`` and ``tokens``, of Mesa-LLM.
        their_processor: processor time of its asyncio stepping for each of its calls.
    """

    memory: str
    wall: float
    direct: float
    least: float
    median: float
    litellm: float
    bare: float
    calls: float
    tokens: float
    theirs: float
    faster: float
    theirs_asyncio: float
    faster_than_asyncio: float
    their_calls: float
    their_tokens: float
    their_processor: float


@dataclass
class Run:
    """What one run of a memory took."""

    wall: float
    processor: float
    requests: int
    prompt_tokens: int

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


class AsyncTown(Town):
    """A town with Mesa-LLM's own asyncio stepping.

    ``parallel_stepping = True`` would not do: it has no effect on Mesa's agent sets.
    """

    def step(self) -> None:
        """All agents together."""
        asyncio.run(step_agents_parallel(list(self.agents)))


def step(town: Town, steps: int, server: ServerProcess) -> Run:
    """Runs a town and counts what the server saw."""
    server.reset()
    gc.collect()
    started, processor = time.perf_counter(), time.process_time()
    for _ in range(steps):
        town.step()
    Services.of(town).flush()
    wall = time.perf_counter() - started
    processor = time.process_time() - processor
    stats = server.stats()
    return Run(wall, processor, stats["requests"], stats["prompt_tokens"])


async def _bare(base: str, calls: int) -> None:
    slots = asyncio.Semaphore(CONCURRENCY)

    async def one(number: int) -> None:
        async with slots:
            await litellm.acompletion(
                model=MODEL,
                messages=_ask(base, number).messages(),
                api_base=base,
                timeout=60,
                max_retries=0,
                response_format=json_schema(Summary),
            )

    await asyncio.gather(*[one(number) for number in range(calls)])


def bare_call_ms(base: str) -> float:
    """Processor milliseconds of one bare litellm call; the first ones warm it up."""

    async def measure() -> float:
        await _bare(base, 50)
        started = time.process_time()
        await _bare(base, SAMPLE)
        return 1000 * (time.process_time() - started) / SAMPLE

    return asyncio.run(measure())


def _ask(base: str, number: int) -> LLMRequest:
    named = {"model": MODEL, "api_base": base}
    text = f"{number} " * 200
    return LLMRequest("ask", number, 1, "Be brief.", text, Summary, **named)


async def _ask_all(client: ProviderClient, base: str, count: int) -> None:
    await asyncio.gather(*[client.acomplete(_ask(base, n)) for n in range(count)])


def client_call_ms(base: str, way: str) -> float:
    """Processor milliseconds of one call of our client; the first ones warm it up."""

    async def measure() -> float:
        client = ProviderClient(LLMSettings(client=way, concurrency=CONCURRENCY))
        await _ask_all(client, base, 50)
        started = time.process_time()
        await _ask_all(client, base, SAMPLE)
        return 1000 * (time.process_time() - started) / SAMPLE

    return asyncio.run(measure())


def client_alone() -> dict[str, float]:
    """Processor milliseconds of a call, either way and with bare litellm, in turns."""
    with ServerProcess() as server:
        turns = [
            {
                "bare": bare_call_ms(server.base),
                "litellm": client_call_ms(server.base, "litellm"),
                "direct": client_call_ms(server.base, "direct"),
            }
            for _ in range(TURNS)
        ]
    return {name: min(turn[name] for turn in turns) for name in turns[0]}


def calls_per_second(calls: int = 2000) -> float:
    """How many requests our client sends to a server that answers at once."""

    async def measure(client: ProviderClient, base: str, count: int) -> float:
        started = time.perf_counter()
        await _ask_all(client, base, count)
        return count / (time.perf_counter() - started)

    async def twice(base: str) -> float:
        client = ProviderClient(LLMSettings(client="direct"))
        await measure(client, base, calls // 10)
        return await measure(client, base, calls)

    with ServerProcess() as server:
        return asyncio.run(twice(server.base))


def compare(
    name: str, agents: int, steps: int, latency: float, server: ServerProcess
) -> Row:
    """Measures one memory and its counterpart."""
    ours, their_class, few = PAIRS[name]
    fewer, base = few or steps, server.base
    bare = bare_call_ms(base)
    runs: dict[str, list[Run]] = {}
    for way, turns in (("litellm", 1), ("direct", TURNS)):
        choose = partial(configure, client=way)
        step(Town(5, ours, base, choose), 10, server)  # loads what is loaded once
        runs[way] = [
            step(Town(agents, ours, base, choose), steps, server) for _ in range(turns)
        ]
    mine, make = runs["direct"][0], theirs(their_class, base)
    direct = [run.per_call for run in runs["direct"]]
    other = step(Town(agents, make, base), fewer, server)
    town = AsyncTown(agents, make, base, citizen=AsyncCitizen)
    together = step(town, fewer, server)
    walls = [run.wall * steps / fewer for run in (other, together)]
    return Row(
        *(name, mine.wall, mine.per_call, min(direct), statistics.median(direct)),
        *(runs["litellm"][0].per_call, bare),
        mine.requests / (agents * steps),
        mine.prompt_tokens / (agents * steps),
        *(walls[0], walls[0] / mine.wall, walls[1], walls[1] / mine.wall),
        other.requests / (agents * fewer),
        other.prompt_tokens / (agents * fewer),
        together.per_call,
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
    pace, alone = calls_per_second(), client_alone()
    if given.json:
        more: list[Any] = [{"calls a second": pace}, {"client alone": alone}]
        print(json.dumps([asdict(row) for row in rows] + more))
    else:
        show(rows)
        print(f"against a server that answers at once: {pace:.0f} calls a second")
        print(
            "processor time of the client alone: "
            f"direct {alone['direct']:.2f} ms a call; litellm {alone['litellm']:.2f}, "
            f"{alone['litellm'] / alone['bare']:.2f} of a bare call"
        )


if __name__ == "__main__":
    main()
