"""A study whose workers are killed at random moments, until it has ended.

    python -m benchmarks.study_kills [--kills 20] [--runs 12] [--seed 1] [--shards 0] [--json]

Its runs ask a provider on this machine, which keeps what it was asked. Checked at the
end: every run is there once, with the numbers of a study without kills; no request whose
answer was in the store is sent again; and what is sent again is no more than what a killed
worker can have in flight, a request of each of its agents. With shards, whole jobs are
killed, each with a file of its own, and the study gathers them after each kill.
"""

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from benchmarks.tables import options, show
from mesa_memory.experiments import Processes, Study
from mesa_memory.stores import open_store, schema
from tests.support.openai_server import OpenAIServer
from tests.support.studied import PaidStreet

TABLES = ("runs", "steps", "agents", "calls")
#: seconds between two kills, at random
BETWEEN = 0.2, 3.0
#: seconds that a job needs to load the program
STARTED = 4.0
#: seconds that the provider takes
LATENCY = 0.5
#: agents of a run, which ask together
AGENTS = 3


@dataclass
class Kills:
    """The moments at which a worker was killed, and what stood in the store then."""

    wanted: int
    chance: random.Random
    times: list[float] = field(default_factory=list)
    stored: list[set[str]] = field(default_factory=list)

    @contextmanager
    def under_way(self, place: Path) -> Iterator[None]:
        """Kills workers of this process meanwhile."""
        done = threading.Event()
        thread = threading.Thread(target=self._kill_on, args=(place, done))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _kill_on(self, place: Path, done: threading.Event) -> None:
        while len(self.times) < self.wanted:
            if done.wait(self.chance.uniform(*BETWEEN)):
                return
            busy = [
                p for p in multiprocessing.active_children() if p.pid in writers(place)
            ]
            if busy:
                victim = self.chance.choice(sorted(busy, key=lambda p: p.pid or 0))
                os.kill(victim.pid or 0, signal.SIGKILL)
                victim.join()
                self.stored.append(hashes(place))
                self.times.append(time.monotonic())


def writers(place: Path) -> set[int]:
    """The processes that write a run now."""
    if not place.exists():
        return set()
    with closing(open_store(place, read_only=True)) as store, store.reading() as on:
        return set(on.scalars(sa.select(schema.leases.c.pid)))


def hashes(place: Path) -> set[str]:
    """What stands in a store of all that was answered."""
    with closing(open_store(place, read_only=True)) as store, store.reading() as on:
        both = (schema.calls, schema.unfinished_calls)
        return {h for t in both for h in on.scalars(sa.select(t.c.prompt_hash))}


def prompts(place: Path) -> dict[str, str]:
    """The hash of each prompt, as the provider saw it."""
    with closing(open_store(place, read_only=True)) as store, store.reading() as on:
        query = sa.select(schema.calls.c.prompt, schema.calls.c.prompt_hash)
        return {
            "\n".join(m["content"] for m in messages if m["role"] == "user"): found
            for messages, found in on.execute(query)
        }


def study(place: Path, server: Any, runs: int) -> Study:
    """A study of runs of some seconds, each of which asks in each step."""
    factors = {"base": server.base, "n": AGENTS, "wait": 0.1}
    return Study(PaidStreet, factors, seeds=range(runs), steps=8, store=place)


def tables(done: Study) -> dict[str, str]:
    """What came out, as text."""
    found = done.results()
    wanted = {name: getattr(found, name) for name in TABLES}
    return {
        name: table.drop(columns="base", errors="ignore").to_csv()
        for name, table in wanted.items()
    }


def measure(kills: int, runs: int, seed: int) -> dict[str, Any]:
    """Plays a study with kills, and one without."""
    moments = Kills(kills, random.Random(seed))
    with TemporaryDirectory() as folder, OpenAIServer(latency=LATENCY) as server:
        place = Path(folder) / "killed.sqlite"
        killed = study(place, server, runs)
        rounds = 0
        while not killed_enough(killed, moments):
            rounds += 1
            with moments.under_way(place):
                killed.run(Processes(2), progress=False)
            if len(moments.times) < kills:  # it ended too soon: more of it
                killed = study(place, server, runs * (rounds + 1))
        asked = [(each.time, each.prompt) for each in server.log]
        return counted(killed, moments, asked, server)


def counted(killed: Study, moments: Kills, asked: Any, server: Any) -> dict[str, Any]:
    """What came out, beside a study without kills."""
    place = Path(killed.location)
    whole = study(place.with_name("whole.sqlite"), server, len(killed.design.seeds))
    whole.run("serial", progress=False)
    again = asked_again(asked, moments, prompts(place))
    twice = len(asked) - len({prompt for _, prompt in asked})
    return {
        "kills": len(moments.times),
        "runs": len(killed.design.seeds),
        "finished": killed.status().counts["finished"],
        "same tables": [n for n, t in tables(killed).items() if tables(whole)[n] == t],
        "answers": len({prompt for _, prompt in asked}),
        "in flight at most": AGENTS * len(moments.times),
        "stored and sent again": again,
        "in flight and sent again": twice - again,
    }


def shard_job(place: Path, base: str, runs: int, number: int, of: int) -> None:
    """A job of a cluster."""
    shard = study(place, SimpleNamespace(base=base), runs).shard(number, of)
    shard.run("serial", progress=False)


def measure_shards(kills: int, runs: int, seed: int, of: int) -> dict[str, Any]:
    """Plays a study in shards whose jobs are killed, with ``gather`` after each kill."""
    moments, spawn = (
        Kills(kills, random.Random(seed)),
        multiprocessing.get_context("spawn"),
    )
    with TemporaryDirectory() as folder, OpenAIServer(latency=LATENCY) as server:
        place = Path(folder) / "killed.sqlite"
        jobs: dict[int, Any] = {}
        while len(moments.times) < kills:
            for number in range(1, of + 1):
                if number not in jobs or not jobs[number].is_alive():
                    given = (place, server.base, runs, number, of)
                    jobs[number] = spawn.Process(target=shard_job, args=given)
                    jobs[number].start()
            time.sleep(STARTED + moments.chance.uniform(*BETWEEN))
            alive = [job for job in jobs.values() if job.is_alive()]
            if not alive:  # they have ended too soon: more of them
                runs += of
                continue
            victim = moments.chance.choice(alive)
            victim.kill()
            victim.join()
            files = place.parent.glob("killed.*-of-*.sqlite")
            moments.stored.append({h for file in files for h in hashes(file)})
            moments.times.append(time.monotonic())
            study(place, server, runs).gather()
        for job in jobs.values():
            job.join()
        for number in range(1, of + 1):
            shard_job(place, server.base, runs, number, of)
        killed = study(place, server, runs)
        killed.gather()
        asked = [(each.time, each.prompt) for each in server.log]
        return counted(killed, moments, asked, server)


def killed_enough(killed: Study, moments: Kills) -> bool:
    """True once there were the kills that were wanted, and all has ended."""
    if len(moments.times) < moments.wanted or not Path(killed.location).exists():
        return False
    return killed.status().finished


def asked_again(
    asked: list[tuple[float, str]], moments: Kills, known: dict[str, str]
) -> int:
    """How many requests came after a kill at which their answer was in the store."""
    return sum(
        any(at > kill and known.get(prompt) in there
            for kill, there in zip(moments.times, moments.stored))
        for at, prompt in asked
    )  # fmt: skip


def main() -> int:
    """Prints the counts; 1 if something was lost, doubled or paid twice."""
    given = options(__doc__, kills=20, runs=12, seed=1, shards=0)
    chosen = given.kills, given.runs, given.seed
    found = measure_shards(*chosen, given.shards) if given.shards else measure(*chosen)
    show("A study whose workers are killed", [found], as_json=given.json)
    whole = found["finished"] == found["runs"] and len(found["same tables"]) == 4
    repeated = found["in flight and sent again"] <= found["in flight at most"]
    return 0 if whole and repeated and not found["stored and sent again"] else 1


if __name__ == "__main__":
    sys.exit(main())
