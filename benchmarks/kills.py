"""Runs that are killed at random moments and resumed until they end.

    python -m benchmarks.kills [--kills 200] [--kinds 0,5] [--most 12] [--json]

Each chain is one run: a process plays it, is killed somewhere in a step, while it is
being resumed or forked, and the next process goes on with it. Checked after each kill:
every step that asked a model and had ended is in the store, and the run is resumed
behind it. Checked at the end of a chain: the rows are those of a run that nobody killed
(scores and vectors as rankings compare them), and no answer that stood in the store at
some kill was paid again later. Said at last: how many quick steps, in which no model was
asked, were missing after a kill.
"""

import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import count
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
    KilledStreet,
    KilledTown,
    Paid,
    Provider,
    Setting,
)
from benchmarks.tables import options, show
from mesa_memory import Services, close, fork, resume
from mesa_memory.stores import open_store, schema
from tests.support.postgres import Server

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
FORK = multiprocessing.get_context("fork")


@dataclass
class Kind:
    """One kind of chain.

    Attributes:
        latency: seconds that the provider takes for each answer; None asks the offline
            model, which takes none.
        postgres: the run is in PostgreSQL.
        elsewhere: vectors are not the shipped embedder's, and so part of the record.
        forked: what is killed is a fork that begins after step ``FORKED``.
        steps: of the whole run.
    """

    name: str
    latency: float | None
    model: type = KilledTown
    postgres: bool = False
    elsewhere: bool = False
    forked: bool = False
    steps: int = 9


KINDS = (
    Kind("file, 5 ms", 0.005),
    Kind("file, 0.6 s", 0.2, elsewhere=True),
    Kind("README's street", 0.05, KilledStreet, steps=150),
    Kind("file, 5 ms, fork", 0.005, forked=True, elsewhere=True),
    Kind("file, offline", None, steps=60),
    Kind("PostgreSQL, 5 ms", 0.005, postgres=True, elsewhere=True),
    Kind("PostgreSQL, 0.6 s", 0.2, postgres=True),
    Kind("PostgreSQL, fork", 0.005, postgres=True, forked=True),
)


# -- one process ------------------------------------------------------------------------


@dataclass
class Told:
    """What a process said of itself before it was killed or ended.

    Attributes:
        begun: the step with which it began; None if it had not begun.
        steps: those that had ended, and whether a model was asked in each.
        ended: the run was over.
    """

    begun: int | None = None
    steps: dict[int, bool] = field(default_factory=dict)
    ended: bool = False

    def hears(self, listen: Any) -> bool:
        """Takes in what the process says next; False once it says nothing more."""
        try:
            name, value = listen.recv()
        except (EOFError, OSError):  # it ended, or was killed, perhaps within a word
            return False
        if name == "step":
            self.steps |= value
        else:
            setattr(self, name, value)
        return True


def play(kind: Kind, place: str, provider: Provider | None, say: Callable) -> None:
    """Goes on with a run, or begins one, to its end."""
    Setting.llm = Paid(provider.place) if provider else "offline"
    Setting.embedder = Elsewhere() if kind.elsewhere else "static"
    found = states(place)
    if kind.forked and found and found[-1]["parent"] is None:
        model = fork(kind.model, place, step=FORKED)
    else:
        model = resume(kind.model, place) if found else kind.model(place=place)
    say(("begun", model.steps))
    while model.steps < kind.steps:
        before = Setting.llm.answered if provider else 0
        model.step()
        asked = bool(provider) and Setting.llm.answered > before
        say(("step", {model.steps: asked}))
    store = Services.of(model).recorder.store
    close(model)
    store.close()
    say(("ended", True))


def states(place: str) -> list[dict[str, Any]]:
    """The runs in a store, oldest first."""
    if "://" not in place and not Path(place).exists():
        return []
    with closing(open_store(place)) as store, store.reading() as on:
        found = on.execute(sa.select(schema.runs).order_by(schema.runs.c.id))
        return [dict(row) for row in found.mappings()]


def life(
    kind: Kind, place: str, provider: Provider | None, kill: tuple[int, float] | None
) -> Told:
    """Lets a process play, and kills it so many seconds after so many of its steps."""
    told, (listen, tell) = Told(), FORK.Pipe(duplex=False)
    child = FORK.Process(target=play, args=(kind, place, provider, tell.send))
    child.start()
    tell.close()
    if kill is not None:
        while len(told.steps) < kill[0] and told.hears(listen):
            pass
        time.sleep(kill[1])
        child.kill()
    while told.hears(listen):
        pass
    child.join()
    listen.close()
    if kill is None and child.exitcode:
        raise RuntimeError(f"{kind.name}: the process ended with {child.exitcode}")
    return told


# -- one run ----------------------------------------------------------------------------


@dataclass
class Chain:
    """One run, killed until it ends or was killed often enough, and what came of it.

    Attributes:
        place, other: where it is, and where one that nobody kills shall be.
        in_start: kills before a process had begun.
        missing_asked, missing_quick: ended steps that were not in the store after a
            kill, by whether they asked a model.
        paid_again: answers that stood in the store at a kill and were paid later.
        asked: steps in which a model was asked.
        seen: at each kill, the answers in the store, and those that had been paid.
    """

    kind: Kind
    place: str
    other: str
    provider: Provider | None
    kills: int = 0
    in_start: int = 0
    missing_asked: int = 0
    missing_quick: int = 0
    paid_again: int = 0
    differences: list[str] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)
    seen: list[tuple[Counter, Counter]] = field(default_factory=list)

    def lives(self, chance: random.Random, most: int) -> None:
        """Plays it to its end, with ``most`` kills, and then one without."""
        kind, latency = self.kind, self.kind.latency
        pace = 0.01 if latency is None else max(0.05, 3 * latency)
        if kind.forked:  # the parent's life is not what is killed here
            life(replace(kind, forked=False), self.place, self.provider, None)
        told = Told()
        while not told.ended:
            kill = None
            if self.kills < most:
                after = chance.choice((0, 0, 1, 1, 2, kind.steps // 8))
                kill = (after, chance.uniform(0, 0.4 if not after else 1.5 * pace))
            told = life(kind, self.place, self.provider, kill)
            if not told.ended:
                self.kills += 1
                self.in_start += told.begun is None
                self._look(told)
        self._compare()

    def _look(self, told: Told) -> None:
        """What a killed process has left."""
        runs = states(self.place)
        if not runs or (self.kind.forked and runs[-1]["parent"] is None):
            return  # killed before there was one
        self.asked |= {step for step, model in told.steps.items() if model}
        steps, answers = stored(self.place, runs[-1]["id"])
        self.missing_asked += len(self.asked - steps)
        self.missing_quick += len(set(told.steps) - self.asked - steps)
        self.seen.append((answers, self._paid()))

    def _paid(self) -> Counter[str]:
        return self.provider.paid() if self.provider else Counter()

    def _compare(self) -> None:
        """Counts what was paid again, and plays a run that nobody kills."""
        run = states(self.place)[-1]
        if self.kind.forked and run["parent"] is None:
            self.differences.append("there is no fork")
        _, needed = stored(self.place, run["id"])
        paid = self._paid()
        for answers, before in self.seen:
            for key, answered in answers.items():
                later = paid[key] - before[key]
                self.paid_again += max(0, later - (needed[key] - answered))
        for _ in range(1 + self.kind.forked):
            forked = self.kind.forked and bool(states(self.other))
            life(replace(self.kind, forked=forked), self.other, self.provider, None)
        whole = rows(self.other, states(self.other)[-1]["id"])
        self.differences += differences(whole, rows(self.place, run["id"]))


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


def differences(one: dict[str, list], other: dict[str, list]) -> Iterator[str]:
    """Where two runs are not the same; of each table the first row."""
    for name, left in one.items():
        right = other[name]
        if len(left) != len(right):
            yield f"{name}: {len(left)} rows and {len(right)}"
        for a, b in zip(left, right):
            unlike = [key for key in a if not alike(a[key], b[key])]
            if unlike:
                key, where = unlike[0], a.get("id", (a.get("step"), a.get("agent")))
                yield f"{name} {where} {unlike}: {a[key]!r:.80} {b[key]!r:.80}"
                break


def alike(one: Any, other: Any) -> bool:
    """The same value; scores and vectors as near as rankings ask."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= NEAR
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        same = one.keys() == other.keys()
        return same and all(alike(one[key], other[key]) for key in one)
    return bool(one == other)


# -- many runs --------------------------------------------------------------------------


def measure(kills: int, kinds: list[Kind], seed: int, most: int) -> list[Chain]:
    """Chains of these kinds, one after the other, until there were so many kills."""
    chance, numbers, chains = random.Random(seed), count(), list[Chain]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server: Any = None
        if any(kind.postgres for kind in kinds):
            server = Server(folder / "postgres")
            stack.callback(server.stop)

        def new(kind: Kind) -> str:
            file = str(folder / f"{next(numbers)}.sqlite")
            return server.database() if kind.postgres else file

        while sum(chain.kills for chain in chains) < kills:
            kind = kinds[len(chains) % len(kinds)]
            with ExitStack() as own:
                provider = None
                if kind.latency is not None:
                    place = Path(own.enter_context(TemporaryDirectory()))
                    provider = own.enter_context(Provider(place, kind.latency))
                chains.append(Chain(kind, new(kind), new(kind), provider))
                chains[-1].lives(chance, most)
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
                "unlike_runs": sum(bool(c.differences) for c in own),
                "quick_steps_missing": sum(c.missing_quick for c in own),
            }
        )
    return found


def main() -> None:
    """Runs the benchmark; ends with 1 if something was lost, unlike or paid twice."""
    every = ",".join(map(str, range(len(KINDS))))
    given = options(__doc__, kills=200, most=12, kinds=every, seed=1)
    kinds = [KINDS[int(number)] for number in given.kinds.split(",")]
    chains = measure(given.kills, kinds, given.seed, given.most)
    show("Runs that were killed and resumed", table(chains), as_json=given.json)
    for each in chains:
        for difference in each.differences:
            print(f"{each.kind.name}: {difference}")
    sys.exit(any(c.missing_asked or c.paid_again or c.differences for c in chains))


if __name__ == "__main__":
    main()
