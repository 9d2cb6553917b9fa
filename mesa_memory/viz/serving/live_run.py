"""Feeds: the newest state of a run that may still grow, and answers about it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import attrgetter
from typing import Any

from mesa_memory.runs import Run
from mesa_memory.runs.compare import differing_parameters
from mesa_memory.viz.run_names import RunFacts

#: share of the time that may be spent on new steps of another program
CPU_SHARE = 0.04
#: the same beside a simulation of this process; messages to the browser add half as much
SHARE_BESIDE = 0.03
#: longest pause before the next look, in seconds
LONGEST_PAUSE_S = 10.0


class CpuBudget:
    """Limits the share of the time that is spent on showing new steps.

    Work that took some processor time is followed by a rest, ``1 / share - 1`` times as
    long.

    Args:
        share: above 0, at most 1.
    """

    def __init__(self, share: float = CPU_SHARE) -> None:
        self.share = share
        self._free = 0.0  # the end of the rest

    @property
    def left(self) -> float:
        """Seconds until the next look; 0 if it may begin."""
        return max(0.0, self._free - time.monotonic())

    @contextmanager
    def work(self) -> Iterator[None]:
        """Measures the work of this thread."""
        begun = time.thread_time()
        try:
            yield
        finally:
            rest = (time.thread_time() - begun) * (1 / self.share - 1)
            self._free = time.monotonic() + min(rest, LONGEST_PAUSE_S)


_names, _memories = attrgetter("names"), attrgetter("memory_classes")
#: number of answers in the cache
CACHED_ANSWERS = 48
#: seconds between two looks for new steps, at least
LOOK_INTERVAL_S = 1.0


class LiveRun:
    """A run with cached answers about it; one object serves many sessions.

    Args:
        run: None if nothing can be read; ``notes`` say why.
        label: its name without a run.
        notes: sentences about what cannot be shown, and what to do.

    Attributes:
        facts: the run's identity; None without a run.
        key: stands for the run in addresses.
        state: ``"running"``, ``"finished"``, ``"stopped"`` or ``"failed"``; empty
            without a run.
        source: the newest state that is known.
        pace: limits the time spent on looking for new steps.
        all: every feed of the page, this one included.
        answers: cached answers, see ``RunState.of``.
    """

    def __init__(
        self,
        run: Run | None,
        label: str,
        notes: Sequence[str] = (),
        pace: CpuBudget | None = None,
    ) -> None:
        self.run: Any = run
        self.label, self.notes = label, list(notes)
        self.facts: Any = None if run is None else RunFacts(run)
        self.key = getattr(self.facts, "key", "")
        self.state = ""
        self.source = RunState(self, [], [], ())
        self.pace = pace or CpuBudget()
        self.all: Sequence[LiveRun] = (self,)
        self.answers = lru_cache(CACHED_ANSWERS)(
            lambda stamp, function, *given: function(self.run, *given)
        )
        self._looking = threading.Lock()
        self.refresh()

    @property
    def model(self) -> Any:
        """The model, if it runs in this process, else None."""
        return None

    @property
    def live(self) -> bool:
        """True while new steps may come."""
        return self.state == "running"

    @property
    def memory(self) -> str:
        """The classes of the agents' memories; empty until there are agents."""
        kinds = () if self.run is None else self.source.of(_memories)
        return ", ".join(kind.rpartition(".")[2] for kind in kinds)

    @property
    def nap(self) -> float:
        """Seconds until the next check of ``due``."""
        return max(LOOK_INTERVAL_S, self.pace.left)

    def due(self, shown: "RunState") -> bool:
        """True if a page that shows this state should look for another one now."""
        del shown
        return True

    def look(self) -> "RunState":
        """As ``refresh``, but does not wait for steps that are not written yet."""
        return self.refresh()

    def refresh(self) -> "RunState":
        """Looks for new steps; the source afterwards.

        Raises:
            StoreError: if the run cannot be read.
        """
        if self.run is None:
            return self.source
        with self._looking:
            # The state first: a run that ends meanwhile is looked at once more.
            state: str = self.run.status
            steps = self.run.steps
            stamp = (len(steps), steps[-1] if steps else None)
            if stamp != self.source.stamp:
                agents = list(self.run.unique_ids.values())
                self.source = RunState(self, steps, agents, stamp)
            self.state = state
            return self.source

    def close(self) -> None:
        """Closes the store."""
        if self.run is not None:
            self.run.close()


class RunState:
    """A run as far as it had got; there is another object as soon as it has gone on.

    So a component that is given a source is rendered again exactly when there is
    something new, and a page shows one state of the run. Made by ``LiveRun.source``.

    Args:
        feed: the ``LiveRun`` that made it.

    Attributes:
        feed: all that is known of the run beside its steps.
        steps: the finished steps.
        agent_ids: the unique ids of the agents, in order.
        stamp: differs between two states of a run.
    """

    def __init__(
        self, feed: LiveRun, steps: list[float], agent_ids: list[Any], stamp: tuple
    ) -> None:
        self.feed = feed
        self.steps, self.agent_ids, self.stamp = steps, agent_ids, stamp

    @property
    def run(self) -> Run:
        """The run, for data functions."""
        return self.feed.run

    @property
    def key(self) -> str:
        """Stands for the run in addresses."""
        return self.feed.key

    @property
    def label(self) -> str:
        """The name of the run among the page's others."""
        return labels(self.feed.all)[self.feed.key]

    @property
    def short_label(self) -> str:
        """The same for a chart's legend: what differs from the others."""
        return short_labels(self.feed.all)[self.feed.key]

    @property
    def all(self) -> "Sequence[RunState]":
        """The sources of all runs of the page, this one included."""
        return [feed.source for feed in self.feed.all]

    def called(self, agent: Any) -> str:
        """The name of an agent for people: ``Ada (4)``, or ``4`` without a name."""
        name = self.of(_names).get(agent, "")
        return f"{name} ({agent})" if name not in ("", str(agent)) else str(agent)

    def title(self, agent: Any) -> str:
        """The name of an agent in a heading: ``Ada (4)``, or ``Agent 4``."""
        called = self.called(agent)
        return f"Agent {called}" if called == str(agent) else called

    def of[T](self, function: Callable[..., T], *arguments: Any) -> T:
        """``function(run, *arguments)``, worked out once until there are new steps.

        Args:
            function: one of ``viz.data``. All sessions share the result, so it must not be
                changed.
            *arguments: hashable.

        Raises:
            StoreError, ValueError: of the function; nothing is kept then.
        """
        return self.feed.answers(self.stamp, function, *arguments)


def give_keys(feeds: Sequence[LiveRun]) -> None:
    """Makes the keys of a page's runs differ, also those of copies of one file."""
    known: set[str] = set()
    for feed in feeds:
        key, count = feed.key, 1
        while feed.key in known:
            count += 1
            feed.key = f"{key}-{count}"
        known.add(feed.key)


def labels(feeds: Sequence[LiveRun]) -> dict[str, str]:
    """The name of each run of a page, by its key; first what differs from the others."""
    apart = _differing(feeds)
    return {
        feed.key: _label(place, feed, differs)
        for place, (feed, differs) in enumerate(zip(feeds, apart), 1)
    }


def short_labels(feeds: Sequence[LiveRun]) -> dict[str, str]:
    """Names for the lines of a chart: only what differs; a number if that is not enough."""
    apart = _differing(feeds)
    found = {}
    for number, (feed, differs) in enumerate(zip(feeds, apart), 1):
        place = getattr(feed.facts, "place", "") or f"run {number}"
        name = getattr(feed.facts, "name", None) or feed.memory
        unique = differs and apart.count(differs) == 1
        parts = [differs] if unique else [place, differs or name]
        found[feed.key] = ", ".join(part for part in parts if part)
    return found


def arms(feeds: Sequence[LiveRun]) -> dict[str, str]:
    """For each run of a page, by its key, what differs from the others besides the seed.

    Runs of one arm of a study have the same; empty if only seeds differ.
    """
    keys = [feed.key for feed in feeds]
    return dict(zip(keys, _differing(feeds, ("rng", "seed"))))


def _differing(
    feeds: Sequence[LiveRun], without: Sequence[str] = ("rng",)
) -> list[str]:
    """For each run, the parameters, the seed and the memory that are not those of all."""
    given = []
    for feed in feeds:
        facts = feed.facts
        known = facts.parameters | {"seed": facts.seed} if facts else {}
        given.append({"memory": feed.memory} | known)
    return [
        ", ".join(
            f"{name} {value}" for name, value in differs.items() if name not in without
        )
        for differs in differing_parameters(given)
    ]


def _label(place: int, feed: LiveRun, differs: str) -> str:
    facts = feed.facts
    if facts is None:
        return feed.label
    begun = facts.started[:16].replace("T", " ")
    parts = [differs, facts.place or str(place), facts.name or facts.model, feed.memory]
    seed = "" if "seed" in differs else f"seed {facts.seed}"
    parts += [facts.forked, seed, begun, feed.state]
    return " · ".join(part for part in parts if part)
