"""How runs are told apart: a key for the address, and a name for people."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from mesa_memory.runs import Run
from mesa_memory.runs.compare import differing_parameters

#: hexadecimal digits that tell runs of stores with the same file name apart
DIGITS = 6
#: classes of memory that are named; of more, how many there are
CLASSES = 3
#: name of the file with the copy of a run that was in memory only
COPY = "mesa-memory-copy.sqlite"
#: parameters that say how a run is kept, not what happens in it
KEEPING = ("record", "replay", "execution")


@dataclass(frozen=True)
class RunFacts:
    """What tells a run from others.

    Attributes:
        number: in its store.
        store: name of the file or database; empty for one in memory.
        name: the user's own, if there is one.
        model: class of the model, without its module.
        parameters: what the model was made with.
        seed: of the model's random numbers.
        started: ISO time.
        forked: from which run of its store, after which step; empty if it is no fork.
    """

    number: int
    store: str
    name: str | None
    model: str
    parameters: dict[str, Any]
    seed: str | None
    started: str
    forked: str = ""

    @classmethod
    def of(cls, run: Run) -> "RunFacts":
        """The facts of a run; none of them changes while it goes on."""
        rows = run.runs(as_records=True)
        row = next(row for row in rows if row["id"] == run.id)
        store = PurePath(run.location).name
        return cls(
            run.id,
            "" if store in (":memory:", COPY) else store,
            row["name"],
            row["model"].rpartition(".")[2],
            {
                name: value
                for name, value in (row["parameters"] or {}).items()
                if name not in KEEPING
            },
            row["seed"],
            row["started"],
            _forked(run),
        )

    @property
    def key(self) -> str:
        """Stands for the run in addresses, whichever other runs the page has.

        Such as ``town-3-5f02ab``: name of the store, number, and a digest of when and
        how the run began. It stays the same when the store is moved to another folder.
        """
        told = (self.model, self.seed, self.started, sorted(self.parameters.items()))
        digest = hashlib.blake2b(repr(told).encode()).hexdigest()[:DIGITS]
        stem = "".join(c for c in PurePath(self.store).stem if c.isalnum() or c in "_.")
        return f"{stem or 'run'}-{self.number}-{digest}"

    @property
    def begun(self) -> str:
        """When it began, to the minute."""
        return self.started[:16].replace("T", " ")

    @property
    def place(self) -> str:
        """The store and the number in it, as commands take them."""
        return f"{self.store}#{self.number}" if self.store else ""


def _forked(run: Run) -> str:
    if run.parent is None:
        return ""
    after = "" if run.parent_step is None else f" after step {run.parent_step:g}"
    return f"fork of run {run.parent}{after}"


def memory_of(run: Run, parameters: dict[str, Any]) -> str:
    """How the memories of a run's agents are called; empty if nobody knows yet."""
    kinds = sorted({str(row["memory"]) for row in run.agents(as_records=True)})
    if not kinds:
        chosen = parameters.get("memory")
        return chosen if isinstance(chosen, str) else ""
    named = ", ".join(kind.rpartition(".")[2] for kind in kinds[:CLASSES])
    return named + f" and {len(kinds) - CLASSES} more" * (len(kinds) > CLASSES)


def give_keys(feeds: Sequence[Any]) -> None:
    """Makes the keys of a page's runs differ, also those of copies of one file."""
    known: set[str] = set()
    for feed in feeds:
        key, count = feed.key, 1
        while feed.key in known:
            count += 1
            feed.key = f"{key}-{count}"
        known.add(feed.key)


def labels(feeds: Sequence[Any]) -> dict[str, str]:
    """What people read of each run of a page, by its key."""
    return {
        feed.key: _label(place, feed, differs)
        for place, (feed, differs) in enumerate(zip(feeds, differing(feeds)), 1)
    }


def differing(feeds: Sequence[Any]) -> list[dict[str, Any]]:
    """For each run of a page, those of its parameters that not all of them have."""
    facts = [feed.facts for feed in feeds]
    return differing_parameters([{} if f is None else f.parameters for f in facts])


def _label(place: int, feed: Any, differs: dict[str, Any]) -> str:
    facts = feed.facts
    if facts is None:
        return feed.label
    parts = [facts.place or str(place), facts.name or facts.model, feed.memory]
    parts.append(facts.forked)
    parts += [f"{name} {value}" for name, value in differs.items() if name != "rng"]
    parts += [f"seed {facts.seed}", facts.begun, feed.state]
    return " · ".join(part for part in parts if part)
